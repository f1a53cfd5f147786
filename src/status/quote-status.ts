/**
 * The status of a quote: its own, as answers show it, and what follows from its transaction's.
 *
 * No endpoint shows a quote again, so its own status is only known from answers to calls; what happens later is told by
 * the transaction. Therefore its own status only ever goes forward, and once the transaction speaks for it, it follows
 * the transaction wherever that goes.
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

/** How far a quote is. A status that we do not know is somewhere between. */
const PROGRESS: Readonly<Record<string, number>> = { PENDING: 0, PROCESSING: 1, COMPLETED: 2, FAILED: 2, EXPIRED: 2 };
const UNKNOWN_PROGRESS = 1;

/** What the answer says of the quote itself. `state` is that before the observation's transaction is taken in. */
export function reduceOwnQuote(state: TransactionState, observation: Observation): QuoteReduction {
  const { quote } = observation;
  const known = withQuote(state, observation);
  if (quote?.status == null || quote.status === known.quoteStatus) return { state: known, events: [] };
  const step = progressOf(quote.status) - progressOf(known.quoteStatus);
  const isNews = known.quoteIsDerived
    ? step > 0 && observation.requestEndedMs > known.quoteSeenEndedMs
    : step > 0 || (step === 0 && observation.requestBeganMs >= known.quoteSeenEndedMs);
  return isNews ? changeQuote(known, quote.status, observation, false) : { state: known, events: [] };
}

/** What the transaction's present status implies, if the quote's does not say the same or more already. */
export function deriveQuote(state: TransactionState, observation: Observation): QuoteReduction {
  const status = QUOTE_STATUS_OF_TRANSACTION[state.status ?? ''];
  if (state.quoteId === null || status === undefined || status === state.quoteStatus) return { state, events: [] };
  if (!state.quoteIsDerived && progressOf(status) < progressOf(state.quoteStatus)) return { state, events: [] };
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

/** The quote's id comes with the quote, or among the fields that the service adds to an outgoing transaction. */
function withQuote(before: TransactionState, { quote, transaction }: Observation): TransactionState {
  // The two are made together: it tells where to look for the transaction until that has been seen.
  const state = { ...before, createdAt: before.createdAt ?? quote?.createdAt ?? null };
  const quoteId = quote?.id ?? state.quoteId ?? quoteIdAmong(transaction?.otherFieldsJson ?? null);
  const quoteExpiresAt = quote?.expiresAt ?? state.quoteExpiresAt;
  if (state.quoteId === null || quoteId === state.quoteId) return { ...state, quoteId, quoteExpiresAt };
  // Another quote of the same transaction: its changes are counted from the beginning.
  const { quoteStatus, quoteIsDerived, quoteSeenEndedMs, quoteChanges } = unseenState(state.id);
  return { ...state, quoteId, quoteExpiresAt, quoteStatus, quoteIsDerived, quoteSeenEndedMs, quoteChanges };
}

function progressOf(status: string | null): number {
  return status === null ? -1 : (PROGRESS[status] ?? UNKNOWN_PROGRESS);
}
