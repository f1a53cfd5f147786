/** Values of metric labels that no module lists for itself. The compiler checks those in `every` for completeness. */
import { LIST_FAILURES, SERVICE_SETTINGS, type Operation, type Reading } from '../api/types.ts';
import type { EntryState } from '../ledger/entry.ts';
import type { ExpiredQuote } from '../ledger/quote-again.ts';
import type { KafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import type { RegistryFailure } from 'payment-processor-contract/registry-failure';

/** All members of a union: a missing one does not compile. */
function every<Value extends string>(members: Record<Value, true>): Value[] {
  return Object.keys(members) as Value[];
}

export const COMMANDS = [...COMMAND_TYPES];
/** Inputs that others publish. */
export const PUBLISHED = [...COMMAND_TYPES, 'operator-decision', 'operator-hold'] as const;
/** Topics where an open transaction can block readers: those inputs and the ledger. */
export const HELD_BACK = [...PUBLISHED, 'ledger'] as const;
/** How an operator's hold ends. */
export const HOLD_ENDS = ['by-itself', 'by-release'] as const;
export const OPERATIONS: Operation[] = [...COMMAND_TYPES, 'list-transactions'];
export const LIST_OUTCOMES = ['page', ...LIST_FAILURES] as const;
const READING_KINDS = every<Reading['kind']>({
  accepted: true,
  doubt: true,
  redirected: true,
  unauthorized: true,
  'not-here': true,
  'told-to-wait': true,
  conflict: true,
  refused: true,
  'never-sent': true,
});
export const CALL_OUTCOMES = [...new Set([...READING_KINDS, ...LIST_OUTCOMES])];
export const UNFINISHED_STATES = every<Exclude<EntryState, 'DONE'>>({
  INTENT: true,
  PARKED: true,
  DOUBTFUL: true,
  QUOTED: true,
});
/** The setting to check while the service is held. */
export const HELD_SETTINGS = [...SERVICE_SETTINGS, 'none'] as const;
export const QUOTE_RUN_OUT_CAUSES = every<ExpiredQuote['cause']>({ 'on-arrival': true, waiting: true });
export const STATUS_KINDS = every<'transaction' | 'quote'>({ transaction: true, quote: true });
/** `first`: the processor's own result; `later`: an operator's decision, usually hours later. */
export const REVISIONS = ['first', 'later'] as const;

/** @param revision 1 for the processor's own result, 0 on a CONFLICT */
export function revisionLabel(revision: number): (typeof REVISIONS)[number] {
  return revision <= 1 ? 'first' : 'later';
}

export const KAFKA_REFUSALS = every<KafkaRefusal['kind']>({
  authentication: true,
  'broker-certificate': true,
  'client-certificate': true,
  tls: true,
  authorization: true,
});
export const REGISTRY_FAILURES = every<RegistryFailure['kind']>({
  authentication: true,
  authorization: true,
  certificate: true,
  tls: true,
  'not-a-registry': true,
  'subject-missing': true,
  'server-error': true,
  unreachable: true,
});
