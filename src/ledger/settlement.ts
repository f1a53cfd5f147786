/** How the doubt of an entry is settled, and when. */
import type { CommandType } from 'payment-processor-contract/commands';
import { EXECUTE_SUFFIX } from 'payment-processor-contract/keys';
import type { Entry } from './entry.ts';
import { OPERATIONS, type Settlement } from './operations.ts';

/** Settings that decisions depend on. */
export interface LedgerPolicy {
  readonly apiTimeoutMs: number;
  /** From a lane's taking over to the end of any call that its former owner began, whatever settings that one had. */
  readonly callsEndWithinMs: number;
  readonly settlingTimeMs: number;
  readonly idempotentOperations: ReadonlySet<CommandType>;
  readonly idempotencyRetentionMs: number;
  readonly immediateExecution: 'two-step' | 'native';
  readonly commandMaxAgeMs: Readonly<Record<CommandType, number>>;
}

/** The operation that the entry's next or present call is. */
export function operationOf(entry: Pick<Entry, 'commandType' | 'step'>): CommandType {
  return entry.step === 'EXECUTE' ? 'execute-quote' : entry.commandType;
}

export function settlementOf(
  entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>,
  policy: LedgerPolicy,
): Settlement {
  const operation = operationOf(entry);
  const isImmediate = entry.step === 'SINGLE' && entry.immediate;
  return OPERATIONS[operation].settlement(policy.idempotentOperations.has(operation), isImmediate);
}

/** The earliest time at which a look-up shows what became of a call over by `endedMs`: it needs time to happen. */
export function lookUpFromMs(endedMs: number, policy: Pick<LedgerPolicy, 'settlingTimeMs'>): number {
  return endedMs + policy.settlingTimeMs;
}

/** Whether a call that begins now, however late it arrives, finds the service still knowing the key of the first. */
export function isKeyTrusted(
  firstSentMs: number,
  nowMs: number,
  policy: Pick<LedgerPolicy, 'apiTimeoutMs' | 'settlingTimeMs' | 'idempotencyRetentionMs'>,
): boolean {
  const arrivesByMs = nowMs + policy.apiTimeoutMs + policy.settlingTimeMs;
  return arrivesByMs - firstSentMs < policy.idempotencyRetentionMs;
}

/** The key that goes out with the entry's call; the execution half of a two-step quote has its own. */
export function idempotencyKeyOf(entry: Pick<Entry, 'key' | 'step'>): string {
  return entry.step === 'EXECUTE' ? `${entry.key}${EXECUTE_SUFFIX}` : entry.key;
}

/** Whether an intent may wait for its call: not where its doubt would need a look-up or an operator. */
export function mayIntentWait(entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>, policy: LedgerPolicy): boolean {
  const settlement = settlementOf(entry, policy);
  return settlement !== 'LOOK_UP' && settlement !== 'NONE';
}

/** The first call of a command, by its fields. */
export function firstCallOf(
  fields: object,
  policy: Pick<LedgerPolicy, 'immediateExecution'>,
): Pick<Entry, 'immediate' | 'step'> {
  const immediate = 'immediatelyExecute' in fields && fields.immediatelyExecute === true;
  return { immediate, step: immediate && policy.immediateExecution === 'two-step' ? 'CREATE' : 'SINGLE' };
}
