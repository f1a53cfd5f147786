/** Whether a listed transaction shows anything new. Pure. */
import type { Transaction } from 'payment-processor-contract/types';
import { endsIn, instantOf, type TransactionState } from '../transaction-state.ts';

/**
 * The service's filter is coarser than a window. What follows the window may have been announced, and forgotten since.
 * @param toMs end of the window
 */
export function notAfter(toMs: number | null, transactions: readonly Transaction[]): readonly Transaction[] {
  return transactions.filter(({ createdAt }) => !((instantOf(createdAt) ?? -Infinity) > (toMs ?? Infinity)));
}

/**
 * @param known its state in the index
 * @param announcedFromMs we announce unknown transactions from this creation time on
 * @param windowFromMs start of the window that listed it, for a transaction without a creation time
 */
export function showsNews(
  transaction: Transaction,
  known: TransactionState | undefined,
  announcedFromMs: number,
  windowFromMs: number,
): boolean {
  if (transaction.status === null) return false;
  if (known === undefined) return (instantOf(transaction.createdAt) ?? windowFromMs) >= announcedFromMs;
  if (known.status === null || known.unclearSinceMs !== null) return true;
  const updatedMs = instantOf(transaction.updatedAt);
  const knownMs = instantOf(known.updatedAt);
  // The end of a payment may have an earlier updatedAt: its lane decides (reducer.ts).
  const isEnd = endsIn(transaction.status, known.status);
  if (updatedMs !== null && knownMs !== null && updatedMs !== knownMs && !isEnd) return updatedMs > knownMs;
  return transaction.status !== known.status;
}
