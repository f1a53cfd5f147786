/** Which transaction states may be forgotten once nothing has been seen of them for long. */
import { isTerminal, type TransactionState } from './transaction-state.ts';

/**
 * Since when the state is at rest, or null: news may come however late. A quote without a transaction lives minutes;
 * what becomes of one that is executed comes with its transaction.
 */
export function restingSinceMs(state: TransactionState): number | null {
  const isOpen = state.status !== null && !isTerminal(state.status);
  return isOpen || state.unclearSinceMs !== null ? null : Math.max(state.seenEndedMs, state.quoteSeenEndedMs);
}
