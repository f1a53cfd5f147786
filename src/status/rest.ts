/** Which transaction states may be forgotten once nothing has been seen of them for long. */
import { LedgerFormatError } from '../ledger/ledger-records.ts';
import { decodeTransactionState, isTerminal, type TransactionState } from './transaction-state.ts';

/**
 * Since when the state is at rest, or null: news may come however late. A quote without a transaction lives minutes;
 * what becomes of one that is executed comes with its transaction.
 */
export function restingSinceMs(state: TransactionState): number | null {
  const isOpen = state.status !== null && !isTerminal(state.status);
  return isOpen || state.unclearSinceMs !== null ? null : Math.max(state.seenEndedMs, state.quoteSeenEndedMs);
}

/** The same of a record of the ledger; null, too, for one that cannot be read: it is kept, and whoever asks for it learns so. */
export function recordRestingSinceMs(value: Buffer): number | null {
  try {
    return restingSinceMs(decodeTransactionState(value));
  } catch (error) {
    if (error instanceof LedgerFormatError) return null;
    throw error;
  }
}
