/** What a transaction's status says of a call in doubt (the design's first table, execute and reject). Pure. */
import type { CommandType } from '../records/commands.ts';
import type { Transaction } from '../records/types.ts';

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
    switch (transaction.status) {
      case 'REJECTED':
        return 'EXECUTED';
      case 'PENDING':
        return 'NOT_YET';
      // The payment goes on, or has arrived.
      case 'PROCESSING':
      case 'SENT':
      case 'COMPLETED':
        return 'REFUSED';
      // A payment that was rejected may be shown as what its rejection came to; where it may go from REJECTED is not known.
      default:
        return 'UNCLEAR';
    }
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
