/**
 * The status of a quote: its own, as answers show it, and the one derived from its transaction.
 *
 * No endpoint shows a quote again. Its own status comes only from answers to calls, so it only goes forward. Later
 * changes show in the transaction. A derived status follows the transaction, even backwards.
 */
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import type { QuoteStatusChanged } from 'payment-processor-contract/types';
import type { Observation } from './observation.ts';
import { unseenState, type TransactionState } from './transaction-state.ts';

export interface QuoteReduction {
  readonly state: TransactionState;
  readonly events: readonly QuoteStatusChanged[];
}

/** Quote status that follows from the transaction's (the mapping is in docs/events.md). */
const QUOTE_STATUS_OF_TRANSACTION: ReadonlyMap<string, string> = new Map(
  Object.entries({
    CREATED: 'PENDING',
    PENDING: 'PENDING',
    PROCESSING: 'PROCESSING',
    SENT: 'PROCESSING',
    COMPLETED: 'COMPLETED',
    REJECTED: 'FAILED',
    FAILED: 'FAILED',
    REFUNDED: 'FAILED',
    EXPIRED: 'EXPIRED',
  }),
);

/** Order of a quote's statuses. An unknown status is somewhere between. */
const PROGRESS: ReadonlyMap<string, number> = new Map(
  Object.entries({ PENDING: 0, PROCESSING: 1, COMPLETED: 2, FAILED: 2, EXPIRED: 2 }),
);
const UNKNOWN_PROGRESS = 1;

/** Applies what the answer says about the quote itself. `state` does not have the answer's transaction yet. */
export function reduceOwnQuote(state: TransactionState, observation: Observation): QuoteReduction {
  const { quote } = observation;
  const current = withQuote(state, observation);
  if (quote?.status == null || quote.status === current.quoteStatus) return { state: current, events: [] };
  const step = progressOf(quote.status) - progressOf(current.quoteStatus);
  const isNews = current.quoteIsDerived
    ? step > 0 && observation.requestEndedMs > current.quoteSeenEndedMs
    : step > 0 || (step === 0 && observation.requestBeganMs >= current.quoteSeenEndedMs);
  return isNews ? changeQuote(current, quote.status, observation, false) : { state: current, events: [] };
}

/**
 * Applies the status that follows from the transaction's, unless the quote's own status is further along. Of two ends,
 * the quote's own counts, unless a later observation shows the transaction's.
 */
export function deriveQuote(state: TransactionState, observation: Observation): QuoteReduction {
  const status = QUOTE_STATUS_OF_TRANSACTION.get(state.status ?? '');
  if (state.quoteId === null || status === undefined || status === state.quoteStatus) return { state, events: [] };
  const step = progressOf(status) - progressOf(state.quoteStatus);
  const isNewer = observation.transaction !== null && observation.requestBeganMs >= state.quoteSeenEndedMs;
  const isBehind = step < 0 || (step === 0 && !isNewer);
  if (!state.quoteIsDerived && isBehind) return { state, events: [] };
  return changeQuote(state, status, observation, true);
}

function changeQuote(
  state: TransactionState,
  status: string,
  observation: Observation,
  derived: boolean,
): QuoteReduction {
  if (state.quoteId === null) return { state, events: [] };
  const event: QuoteStatusChanged = {
    quoteId: state.quoteId,
    previousStatus: state.quoteStatus,
    status,
    transactionId: observation.transaction?.id ?? observation.quote?.transactionId ?? state.id,
    expiresAt: state.quoteExpiresAt,
    commandKey: state.commandKeys.at(-1) ?? null,
    observedAt: BigInt(observation.requestEndedMs),
    derivedFromTransaction: derived,
  };
  const changed = {
    ...state,
    quoteStatus: status,
    quoteIsDerived: derived,
    quoteSeenEndedMs: Math.max(observation.requestEndedMs, state.quoteSeenEndedMs),
    quoteChanges: state.quoteChanges + 1,
  };
  return { state: changed, events: [event] };
}

/** The quote's id comes with the quote, or in the fields that the service adds to an outgoing transaction. */
function withQuote(before: TransactionState, { quote, transaction }: Observation): TransactionState {
  // Quote and transaction are created together: until the transaction is seen, this tells the poller where to look.
  const state = { ...before, createdAt: before.createdAt ?? quote?.createdAt ?? null };
  const quoteId = quote?.id ?? state.quoteId ?? quoteIdAmong(transaction?.otherFieldsJson ?? null);
  const quoteExpiresAt = quote?.expiresAt ?? state.quoteExpiresAt;
  if (state.quoteId === null || quoteId === state.quoteId) return { ...state, quoteId, quoteExpiresAt };
  // Another quote of the same transaction: its changes count from zero.
  const { quoteStatus, quoteIsDerived, quoteSeenEndedMs, quoteChanges } = unseenState(state.id);
  return { ...state, quoteId, quoteExpiresAt, quoteStatus, quoteIsDerived, quoteSeenEndedMs, quoteChanges };
}

function progressOf(status: string | null): number {
  return status === null ? -1 : (PROGRESS.get(status) ?? UNKNOWN_PROGRESS);
}
