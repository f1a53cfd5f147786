/** What a transaction's status says of a call in doubt (the design's first table, execute and reject). Pure. */
import type { Transaction } from '../records/types.ts';
import type { CommandType } from '../records/commands.ts';

export type LookUpFinding =
  /** It took effect. */
  | 'EXECUTED'
  /** It cannot take effect any more, and did not. */
  | 'REFUSED'
  /** It did not take effect, and still can. */
  | 'NOT_YET'
  /** The status says nothing that we understand. */
  | 'UNCLEAR';

/** @param operation execute-quote or reject-transaction; others are not settled by a look-up */
export function findingOf(
  operation: CommandType,
  transaction: Pick<Transaction, 'status' | 'failureReason'>,
): LookUpFinding {
  if (operation === 'reject-transaction') {
    if (transaction.status === 'REJECTED') return 'EXECUTED';
    if (transaction.status === 'PENDING') return 'NOT_YET';
    return transaction.status === null ? 'UNCLEAR' : 'REFUSED';
  }
  switch (transaction.status) {
    case 'PROCESSING':
    case 'SENT':
    case 'COMPLETED':
    case 'REJECTED':
    case 'REFUNDED':
      return 'EXECUTED';
    case 'FAILED':
      return transaction.failureReason === 'QUOTE_EXPIRED' ? 'REFUSED' : 'EXECUTED';
    case 'EXPIRED':
      return 'REFUSED';
    case 'CREATED':
    case 'PENDING':
      return 'NOT_YET';
    default:
      return 'UNCLEAR';
  }
}
