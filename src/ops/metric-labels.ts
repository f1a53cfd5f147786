/** The values of metric labels: a bounded list, which the compiler checks for completeness. */
import type { BreakerStage } from '../api/breaker.ts';
import type { ListFailure, Operation, Reading, ServiceSetting } from '../api/types.ts';
import type { LaneStage } from '../lanes/lane-status.ts';
import type { LaneLoss } from '../lanes/troubles.ts';
import type { EntryState } from '../ledger/entry.ts';
import type { ExpiredQuote } from '../ledger/quote-again.ts';
import type { DeadLetterReason } from '../producers/dead-letters.ts';
import type { KafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import type { RegistryFailure } from 'payment-processor-contract/registry-failure';
import type { PollWorkKind } from '../status/poller/agenda.ts';
import type { NotAdmittedCause } from './lag.ts';

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
export const CALL_OUTCOMES = every<Reading['kind'] | ListFailure | 'page'>({
  accepted: true,
  doubt: true,
  redirected: true,
  unauthorized: true,
  'not-here': true,
  'told-to-wait': true,
  conflict: true,
  refused: true,
  'never-sent': true,
  page: true,
  held: true,
  unreachable: true,
  'not-understood': true,
});
export const LIST_OUTCOMES = every<ListFailure | 'page'>({
  page: true,
  held: true,
  unreachable: true,
  unauthorized: true,
  redirected: true,
  'told-to-wait': true,
  refused: true,
  'not-understood': true,
});
export const POLL_KINDS = every<PollWorkKind>({
  discovery: true,
  revisit: true,
  'catch-up': true,
  reversals: true,
  sweep: true,
});
export const CAUSES = every<NotAdmittedCause>({
  'catching-up': true,
  'no-slot': true,
  'lane-full': true,
  breaker: true,
  held: true,
  'rate-limit': true,
  unconfirmed: true,
  'operator-hold': true,
  'holds-unread': true,
  registry: true,
  failed: true,
  'lane-not-open': true,
});
export const UNFINISHED_STATES = every<Exclude<EntryState, 'DONE'>>({
  INTENT: true,
  PARKED: true,
  DOUBTFUL: true,
  QUOTED: true,
});
export const DEAD_LETTER_REASONS = every<DeadLetterReason>({
  UNREADABLE: true,
  UNKNOWN_SCHEMA: true,
  NO_KEY: true,
  INVALID_KEY: true,
  TOO_LARGE: true,
  SET_ASIDE: true,
  REFUSED_DECISION: true,
  UNREADABLE_BATCH: true,
});
export const BREAKER_STAGES = every<BreakerStage>({
  closed: true,
  open: true,
  checking: true,
  trial: true,
  ramp: true,
});
/** The setting to check while the service is held. */
export const HELD_SETTINGS = every<ServiceSetting | 'none'>({
  API_BASE_URL: true,
  API_TOKEN_ID: true,
  NODE_EXTRA_CA_CERTS: true,
  none: true,
});
export const LANE_STAGES = every<LaneStage>({
  closed: true,
  acquiring: true,
  open: true,
  releasing: true,
  stopped: true,
});
export const LANE_LOSSES = every<LaneLoss>({
  fenced: true,
  'not-committed': true,
  refused: true,
  'with-others': true,
  'counted-out': true,
  'not-acquired': true,
  'own-failure': true,
});
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
