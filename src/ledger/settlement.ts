/** How and when an entry's doubt is settled. */
import type { CommandType } from 'payment-processor-contract/commands';
import { EXECUTE_SUFFIX } from 'payment-processor-contract/keys';
import type { Entry } from './entry.ts';
import { OPERATIONS, type Settlement } from './operations.ts';

/** Settings on which decisions depend. */
export interface LedgerPolicy {
  readonly apiTimeoutMs: number;
  /** After a takeover, every call of the former owner has ended within this time, whatever its settings were. */
  readonly callsEndWithinMs: number;
  readonly settlingTimeMs: number;
  readonly idempotentOperations: ReadonlySet<CommandType>;
  readonly idempotencyRetentionMs: number;
  readonly immediateExecution: 'two-step' | 'native';
  /** Tells credentials apart without naming them: a hash of API_TOKEN_ID. */
  readonly callerId: string;
  readonly commandMaxAgeMs: Readonly<Record<CommandType, number>>;
}

/** The operation of the entry's next or current call. */
export function operationOf(entry: Pick<Entry, 'commandType' | 'step'>): CommandType {
  return entry.step === 'EXECUTE' ? 'execute-quote' : entry.commandType;
}

export function settlementOf(
  entry: Pick<Entry, 'commandType' | 'step' | 'immediate' | 'unexecuted'>,
  policy: LedgerPolicy,
): Settlement {
  // The key could not settle an earlier call. An answer to the next one does not settle it either.
  if (entry.unexecuted?.by === 'LOOK_UP') return 'LOOK_UP';
  const operation = operationOf(entry);
  const isImmediate = entry.step === 'SINGLE' && entry.immediate;
  return OPERATIONS[operation].settlement(policy.idempotentOperations.has(operation), isImmediate);
}

/** From then on a look-up certainly shows the effect of a call that ended by `endedMs`: it may take the settling time to appear. */
export function lookUpFromMs(endedMs: number, policy: Pick<LedgerPolicy, 'settlingTimeMs'>): number {
  return endedMs + policy.settlingTimeMs;
}

/** Whether the entry's calls, or the call of its intent, used other credentials than ours. */
export function wasCallerChanged(
  { calledAs }: Pick<Entry, 'calledAs'>,
  { callerId }: Pick<LedgerPolicy, 'callerId'>,
): boolean {
  return calledAs !== null && calledAs !== callerId;
}

/**
 * Why the idempotency key might not prevent a second effect of a call that begins now, however late it arrives. Null: it does.
 * @param sentMs when the first call began
 */
export function whyKeyIsVoid(
  { calledAs }: Pick<Entry, 'calledAs'>,
  sentMs: number,
  nowMs: number,
  policy: Pick<LedgerPolicy, 'apiTimeoutMs' | 'callerId' | 'settlingTimeMs' | 'idempotencyRetentionMs'>,
): string | null {
  if (wasCallerChanged({ calledAs }, policy))
    return 'API_TOKEN_ID was changed since, and the service may keep idempotency keys for each token';
  const arrivesByMs = nowMs + policy.apiTimeoutMs + policy.settlingTimeMs;
  const isKept = arrivesByMs - sentMs < policy.idempotencyRetentionMs;
  return isKept ? null : 'the service may have forgotten the idempotency key since';
}

/** The idempotency key of the entry's call; the execution of a two-step quote has its own key. */
export function idempotencyKeyOf(entry: Pick<Entry, 'key' | 'step'>): string {
  return entry.step === 'EXECUTE' ? `${entry.key}${EXECUTE_SUFFIX}` : entry.key;
}

/** Whether an intent may wait for its call: not if its doubt would need a look-up or an operator. */
export function mayIntentWait(entry: Parameters<typeof settlementOf>[0], policy: LedgerPolicy): boolean {
  const settlement = settlementOf(entry, policy);
  return settlement !== 'LOOK_UP' && settlement !== 'NONE';
}

/** The first call of a command, from its fields. */
export function firstCallOf(
  fields: object,
  policy: Pick<LedgerPolicy, 'immediateExecution'>,
): Pick<Entry, 'immediate' | 'step'> {
  const immediate = 'immediatelyExecute' in fields && fields.immediatelyExecute === true;
  return { immediate, step: immediate && policy.immediateExecution === 'two-step' ? 'CREATE' : 'SINGLE' };
}
