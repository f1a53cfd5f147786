/**
 * The status of one transaction and its quote, as a pure fold over observations (invariant I4): every change once, in
 * order. Stale and repeated observations change nothing.
 *
 * To decide which of two observations is newer, we compare the service's updatedAt, then the requests' times if one request ended
 * before the other began. Otherwise the order is unknown, and nothing is emitted until the poller has looked again.
 */
import { isFinalStatus } from 'payment-processor-contract/statuses';
import type { QuoteStatusChanged, TransactionStatusChanged } from 'payment-processor-contract/types';
import type { Observation } from './observation.ts';
import { deriveQuote, reduceOwnQuote } from './quote-status.ts';
import {
  effectAfter,
  endsIn,
  instantOf,
  unseenState,
  withCommand,
  type TransactionState,
} from './transaction-state.ts';

export interface Reduction {
  readonly state: TransactionState;
  readonly transactionEvent: TransactionStatusChanged | null;
  /** In order: the quote's status in the answer, then the status that its transaction implies. */
  readonly quoteEvents: readonly QuoteStatusChanged[];
}

/** Wall clocks of two processes may differ by this much. Beyond it, the order of their observations is certain. */
const CLOCK_DIFFERENCE_MS_MAX = 1_000;
/** If a state's time is later than a new observation's write time by more than this, the state's clock was ahead. */
const AHEAD_MS_MAX = 10_000;
/** We assume that no replica of the service lags by more. */
const REPLICA_LAG_MS_MAX = 60_000;

/** @param writtenMs when the observation was written, by the brokers' clock: the clock of any process may be wrong */
export function reduce(
  stored: TransactionState | undefined,
  id: string,
  observation: Observation,
  writtenMs: number,
): Reduction {
  if (observation.observedBy === 'EFFECT')
    return { state: withEffect(stored ?? unseenState(id), observation), transactionEvent: null, quoteEvents: [] };
  const own = reduceOwnQuote(withCommandOf(stored ?? unseenState(id), observation), observation);
  const { state, event } = reduceTransaction(own.state, observation, writtenMs);
  // Even if the transaction did not change: this answer may be the first to name its quote.
  const derived = deriveQuote(state, observation);
  return { state: derived.state, transactionEvent: event, quoteEvents: [...own.events, ...derived.events] };
}

/** Only records the effect, for later look-ups. Events come from the observation that reports the change itself. */
function withEffect(state: TransactionState, { requestEndedMs, transaction }: Observation): TransactionState {
  if (transaction === null) return state;
  const noted = { ...state, effectStatus: effectAfter(state.effectStatus, transaction) };
  // Without a time, retention would forget it at once.
  return state.status === null ? { ...noted, seenEndedMs: Math.max(state.seenEndedMs, requestEndedMs) } : noted;
}

/** Runs first, so that the events of this observation already name its command. */
function withCommandOf(before: TransactionState, observation: Observation): TransactionState {
  const { carried, commandKey, quote, requestEndedMs, transaction } = observation;
  if (commandKey === null) return before;
  const state = withCommand(before, commandKey, carried);
  // An operator's word may be all that we know: without a time, retention would forget it at once.
  const isAlone = state.status === null && quote === null && transaction === null;
  return isAlone ? { ...state, seenEndedMs: Math.max(state.seenEndedMs, requestEndedMs) } : state;
}

function reduceTransaction(
  state: TransactionState,
  observation: Observation,
  writtenMs: number,
): { state: TransactionState; event: TransactionStatusChanged | null } {
  const { transaction } = observation;
  if (transaction?.status == null) return { state, event: null };
  const order = orderOf(state, observation, writtenMs);
  if (order === 'stale') return { state, event: null };
  if (transaction.status === state.status) {
    // Only the horizon moves, so that a different but older answer counts as stale.
    return { state: order === 'newer' ? { ...state, ...horizonOf(state, observation) } : state, event: null };
  }
  if (order === 'unclear') {
    return { state: { ...state, unclearSinceMs: Math.min(state.unclearSinceMs ?? Infinity, writtenMs) }, event: null };
  }
  const changed = {
    ...state,
    ...horizonOf(state, observation),
    status: transaction.status,
    effectStatus: effectAfter(state.effectStatus, transaction),
    terminalSinceMs: isFinalStatus(transaction.status) ? observation.requestEndedMs : null,
    changes: state.changes + 1,
  };
  return { state: changed, event: eventOf(state, observation, transaction, transaction.status) };
}

function eventOf(
  before: TransactionState,
  observation: Observation,
  transaction: NonNullable<Observation['transaction']>,
  status: string,
): TransactionStatusChanged {
  return {
    transactionId: transaction.id,
    type: transaction.type,
    previousStatus: before.status,
    status,
    failureReason: transaction.failureReason,
    customerId: transaction.customerId,
    platformCustomerId: transaction.platformCustomerId,
    quoteId: before.quoteId,
    commandKey: before.commandKeys.at(-1) ?? null,
    commandKeys: [...before.commandKeys],
    changedAt: transaction.updatedAt,
    observedAt: BigInt(observation.requestEndedMs),
    observedBy: observation.observedBy,
    transaction,
  };
}

function orderOf(state: TransactionState, observation: Observation, writtenMs: number): 'newer' | 'stale' | 'unclear' {
  if (state.status === null) return 'newer';
  const updatedMs = instantOf(observation.transaction?.updatedAt ?? null);
  const knownMs = instantOf(state.updatedAt);
  if (updatedMs !== null && knownMs !== null) {
    if (updatedMs === knownMs && isOldView(state, observation)) return 'stale';
    if (updatedMs !== knownMs) return updatedMs > knownMs || isLastingEnd(state, observation) ? 'newer' : 'stale';
  }
  // A clock was ahead, and by its time all news would be stale. A request made after the order was first unclear is newer.
  const rightUpToMs = writtenMs + AHEAD_MS_MAX;
  if (state.seenEndedMs > rightUpToMs && observation.requestEndedMs <= rightUpToMs) {
    const unclearSinceMs = state.unclearSinceMs ?? Infinity;
    return observation.requestBeganMs >= unclearSinceMs + CLOCK_DIFFERENCE_MS_MAX ? 'newer' : 'unclear';
  }
  const isSameClock = observation.observer === state.seenBy;
  const marginMs = isSameClock ? 0 : CLOCK_DIFFERENCE_MS_MAX;
  if (observation.requestBeganMs >= state.seenEndedMs + marginMs) return 'newer';
  if (observation.requestEndedMs + marginMs <= state.seenBeganMs) return 'stale';
  return 'unclear';
}

/**
 * Hosts of the service may have different clocks, and lists may round times. So the end of a payment may have an earlier updatedAt
 * than its beginning. If the service still shows the end much later, it is current.
 */
function isLastingEnd(state: TransactionState, { requestBeganMs, transaction }: Observation): boolean {
  return endsIn(transaction?.status ?? null, state.status) && requestBeganMs >= state.seenEndedMs + REPLICA_LAG_MS_MAX;
}

/**
 * Whether a payment looks open soon after its end, at an equal updatedAt (we keep the latest, so the end's own may be earlier). A lagging
 * replica may still show the beginning. If the payment looks open for longer, the service has opened it again.
 */
function isOldView(state: TransactionState, { requestBeganMs, transaction }: Observation): boolean {
  const isOpenAgain = endsIn(state.status, transaction?.status ?? null);
  return isOpenAgain && requestBeganMs < state.seenEndedMs + REPLICA_LAG_MS_MAX;
}

/** Times never go back: a newer observation counts as no earlier than the previous ones, whatever its request's times. */
function horizonOf(state: TransactionState, observation: Observation): Partial<TransactionState> {
  const updatedAt = observation.transaction?.updatedAt ?? state.updatedAt;
  return {
    updatedAt:
      (instantOf(updatedAt) ?? Infinity) < (instantOf(state.updatedAt) ?? -Infinity) ? state.updatedAt : updatedAt,
    createdAt: createdAtOf(state, observation.transaction?.createdAt ?? null),
    seenBeganMs: Math.max(observation.requestBeganMs, state.seenBeganMs),
    // Before the first status it only says since when the state is kept.
    seenEndedMs: Math.max(observation.requestEndedMs, state.status === null ? 0 : state.seenEndedMs),
    seenBy: observation.observer,
    unclearSinceMs: null,
  };
}

/** The transaction's own creation time as first shown; before that, its quote's. */
function createdAtOf(state: TransactionState, own: string | null): string | null {
  return state.status === null ? (own ?? state.createdAt) : (state.createdAt ?? own);
}
