/**
 * The status of one transaction and its quote, as a pure fold over observations (invariant I4): every change once, in
 * order. Stale and repeated observations change nothing.
 *
 * Which of two observations is newer: the service's updatedAt first; else the requests' times, when one ended before
 * the other began; else it cannot be told, and nothing is emitted until somebody looks again.
 */
import type { QuoteStatusChanged, TransactionStatusChanged } from '../records/types.ts';
import { isJsonObject, parseLossless } from '../records/lossless-json.ts';
import type { Observation } from './observation.ts';

export interface TransactionState {
  /** The transaction's id, or the quote's where no transaction is known. */
  readonly id: string;
  readonly status: string | null;
  readonly updatedAt: string | null;
  readonly seenBeganMs: number;
  readonly seenEndedMs: number;
  /** Transaction status events so far. */
  readonly changes: number;
  readonly quoteId: string | null;
  readonly quoteStatus: string | null;
  readonly quoteSeenEndedMs: number;
  readonly quoteExpiresAt: string | null;
  readonly quoteChanges: number;
}

export interface Reduction {
  readonly state: TransactionState;
  readonly transactionEvent: TransactionStatusChanged | null;
  readonly quoteEvent: QuoteStatusChanged | null;
  /** Two requests overlapped and showed different statuses: only a later look can tell. */
  readonly lookAgain: boolean;
}

/** Quote status that follows from the transaction's (the contract's mapping). */
const QUOTE_STATUS_OF_TRANSACTION: Readonly<Record<string, string>> = {
  CREATED: 'PENDING',
  PENDING: 'PENDING',
  PROCESSING: 'PROCESSING',
  SENT: 'PROCESSING',
  COMPLETED: 'COMPLETED',
  REJECTED: 'FAILED',
  FAILED: 'FAILED',
  REFUNDED: 'FAILED',
  EXPIRED: 'EXPIRED',
};

/** How far a quote is; an older answer that overlaps a newer one never takes it back. */
const QUOTE_PROGRESS: Readonly<Record<string, number>> = {
  PENDING: 0,
  PROCESSING: 1,
  COMPLETED: 2,
  FAILED: 2,
  EXPIRED: 2,
};

export function reduce(known: TransactionState | undefined, id: string, observation: Observation): Reduction {
  const before = known ?? unseen(id);
  const quoted = withQuoteId(before, observation);
  const { state: afterQuote, event: ownQuoteEvent } = reduceQuote(quoted, observation);
  const { state, event: transactionEvent, lookAgain } = reduceTransaction(afterQuote, observation);
  const derived =
    transactionEvent === null ? { state, event: null } : deriveQuote(state, transactionEvent.status, observation);
  // An answer that shows a quote speaks for it; what its transaction implies then says the same or more.
  return { state: derived.state, transactionEvent, quoteEvent: derived.event ?? ownQuoteEvent, lookAgain };
}

function reduceTransaction(
  state: TransactionState,
  observation: Observation,
): { state: TransactionState; event: TransactionStatusChanged | null; lookAgain: boolean } {
  const { transaction } = observation;
  const unchanged = { state, event: null, lookAgain: false };
  if (transaction?.status == null) return unchanged;
  const order = orderOf(state, observation);
  if (transaction.status === state.status) {
    // Same status seen later: only the horizon moves, so that an older different answer is known to be stale.
    return order === 'newer' ? { ...unchanged, state: { ...state, ...horizonOf(state, observation) } } : unchanged;
  }
  if (order === 'stale') return unchanged;
  if (order === 'unclear') return { ...unchanged, lookAgain: true };
  const event: TransactionStatusChanged = {
    transactionId: transaction.id,
    type: transaction.type,
    previousStatus: state.status,
    status: transaction.status,
    failureReason: transaction.failureReason,
    customerId: transaction.customerId,
    platformCustomerId: transaction.platformCustomerId,
    quoteId: state.quoteId,
    commandKey: observation.commandKey,
    changedAt: transaction.updatedAt,
    observedAt: BigInt(observation.requestEndedMs),
    observedBy: observation.observedBy,
    transaction,
  };
  const changed = {
    ...state,
    ...horizonOf(state, observation),
    status: transaction.status,
    changes: state.changes + 1,
  };
  return { state: changed, event, lookAgain: false };
}

function orderOf(state: TransactionState, observation: Observation): 'newer' | 'stale' | 'unclear' {
  if (state.status === null) return 'newer';
  const updatedMs = instantOf(observation.transaction?.updatedAt ?? null);
  const knownMs = instantOf(state.updatedAt);
  if (updatedMs !== null && knownMs !== null && updatedMs !== knownMs) return updatedMs > knownMs ? 'newer' : 'stale';
  if (observation.requestBeganMs >= state.seenEndedMs) return 'newer';
  if (observation.requestEndedMs <= state.seenBeganMs) return 'stale';
  return 'unclear';
}

function horizonOf(state: TransactionState, observation: Observation): Partial<TransactionState> {
  return {
    updatedAt: observation.transaction?.updatedAt ?? state.updatedAt,
    seenBeganMs: observation.requestBeganMs,
    seenEndedMs: observation.requestEndedMs,
  };
}

function reduceQuote(
  state: TransactionState,
  observation: Observation,
): { state: TransactionState; event: QuoteStatusChanged | null } {
  const { quote } = observation;
  if (quote?.status == null || quote.status === state.quoteStatus) return { state, event: null };
  const isLater = observation.requestBeganMs >= state.quoteSeenEndedMs;
  const isFurther = (QUOTE_PROGRESS[quote.status] ?? 0) > (QUOTE_PROGRESS[state.quoteStatus ?? ''] ?? -1);
  if (!isLater && !isFurther) return { state, event: null };
  return changeQuote(state, quote.status, observation, false);
}

function deriveQuote(
  state: TransactionState,
  transactionStatus: string,
  observation: Observation,
): { state: TransactionState; event: QuoteStatusChanged | null } {
  const status = QUOTE_STATUS_OF_TRANSACTION[transactionStatus];
  if (state.quoteId === null || status === undefined || status === state.quoteStatus) return { state, event: null };
  return changeQuote(state, status, observation, true);
}

function changeQuote(
  state: TransactionState,
  status: string,
  observation: Observation,
  derived: boolean,
): { state: TransactionState; event: QuoteStatusChanged | null } {
  if (state.quoteId === null) return { state, event: null };
  const event: QuoteStatusChanged = {
    quoteId: state.quoteId,
    previousStatus: state.quoteStatus,
    status,
    transactionId: observation.transaction?.id ?? observation.quote?.transactionId ?? state.id,
    expiresAt: state.quoteExpiresAt,
    commandKey: observation.commandKey,
    observedAt: BigInt(observation.requestEndedMs),
    derivedFromTransaction: derived,
  };
  return {
    state: {
      ...state,
      quoteStatus: status,
      quoteSeenEndedMs: observation.requestEndedMs,
      quoteChanges: state.quoteChanges + 1,
    },
    event,
  };
}

/** The quote's id comes with the quote, or among the fields that the service adds to an outgoing transaction. */
function withQuoteId(state: TransactionState, observation: Observation): TransactionState {
  const { quote, transaction } = observation;
  const quoteId = quote?.id ?? state.quoteId ?? quoteIdAmong(transaction?.otherFieldsJson ?? null);
  return { ...state, quoteId, quoteExpiresAt: quote?.expiresAt ?? state.quoteExpiresAt };
}

/** The `quoteId` that a service may show on a transaction. */
export function quoteIdAmong(otherFieldsJson: string | null): string | null {
  if (otherFieldsJson?.includes('"quoteId"') !== true) return null;
  const others = parseLossless(otherFieldsJson);
  return isJsonObject(others) && typeof others['quoteId'] === 'string' ? others['quoteId'] : null;
}

function instantOf(text: string | null): number | null {
  const ms = text === null ? NaN : Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

function unseen(id: string): TransactionState {
  return {
    id,
    status: null,
    updatedAt: null,
    seenBeganMs: 0,
    seenEndedMs: 0,
    changes: 0,
    quoteId: null,
    quoteStatus: null,
    quoteSeenEndedMs: 0,
    quoteExpiresAt: null,
    quoteChanges: 0,
  };
}
