/**
 * The ledger's knowledge of each operation. The compiler asks for a row for each new command type.
 *
 *   settlement   how its doubt is settled
 *   lookUp       how a transaction shows whether it took effect; null: no transaction is known before the answer
 */
import type { CommandType } from 'payment-processor-contract/commands';
import type { Transaction } from 'payment-processor-contract/types';
import type { Entry } from './entry.ts';
import { keptFields } from './kept-fields.ts';

export type Settlement =
  /** The same call with the same key: the service replays its answer. */
  | 'SAME_KEY'
  /** The same call again: none of its effects moves money. */
  | 'HARMLESS'
  /** The same call again: a second effect moves only a sandbox's money. */
  | 'SANDBOX'
  /** By the transaction's status. */
  | 'LOOK_UP'
  /** Only an operator can settle it. */
  | 'NONE';

/** What a transaction's status says about a call in doubt. */
export type LookUpFinding =
  /** It took effect. */
  | 'EXECUTED'
  /** It cannot take effect any more, and did not. */
  | 'REFUSED'
  /** It did not take effect, and still can. */
  | 'NOT_YET'
  /** It may have taken effect; the payment's last status will show it. */
  | 'OPEN'
  /** The status says nothing that we understand. */
  | 'UNCLEAR';

/** Whether an effect that an earlier status showed is still possible, though the present one shows none. */
export function mayHaveTakenEffect(before: LookUpFinding, now: LookUpFinding): boolean {
  switch (before) {
    case 'EXECUTED':
      return true;
    // For a rejection, REFUNDED and FAILED are UNCLEAR, and PROCESSING is OPEN: its call may have caused them.
    case 'UNCLEAR':
      return now !== 'UNCLEAR';
    case 'OPEN':
      return now === 'NOT_YET';
    case 'NOT_YET':
    case 'REFUSED':
      return false;
  }
}

/** Which transaction a call is about. */
export interface SubjectIds {
  readonly transactionId: string | null;
  readonly quoteId: string | null;
}

export interface LookUp {
  /** Null if the entry no longer has the fields. */
  readonly subject: (entry: Pick<Entry, 'fieldsJson'>) => SubjectIds | null;
  /** The type that the transaction must have, if the service shows one. */
  readonly type: 'INCOMING' | 'OUTGOING';
  /** The transaction may be much older than the call. */
  readonly mayBeOlder: boolean;
  readonly finding: (transaction: Pick<Transaction, 'status' | 'failureReason'>) => LookUpFinding;
}

interface OperationRow {
  /** @param isImmediate the call asks the service to execute the quote at once (`immediatelyExecute`) */
  readonly settlement: (isKeyHonoured: boolean, isImmediate: boolean) => Settlement;
  readonly lookUp: LookUp | null;
}

export const OPERATIONS: Readonly<Record<CommandType, OperationRow>> = {
  'create-quote': {
    // A spare quote only expires; one that the service executes at once moves money.
    settlement: (isKeyHonoured, isImmediate) => (!isImmediate ? 'HARMLESS' : isKeyHonoured ? 'SAME_KEY' : 'NONE'),
    lookUp: null,
  },
  'execute-quote': {
    settlement: (isKeyHonoured) => (isKeyHonoured ? 'SAME_KEY' : 'LOOK_UP'),
    lookUp: {
      subject: (entry) => keptFields('execute-quote', entry),
      type: 'OUTGOING',
      mayBeOlder: false,
      finding: executionFinding,
    },
  },
  'transfer-in': { settlement: (isKeyHonoured) => (isKeyHonoured ? 'SAME_KEY' : 'NONE'), lookUp: null },
  'reject-transaction': {
    settlement: (isKeyHonoured) => (isKeyHonoured ? 'SAME_KEY' : 'LOOK_UP'),
    // An incoming payment may wait long for its rejection.
    lookUp: { subject: rejectionSubject, type: 'INCOMING', mayBeOlder: true, finding: rejectionFinding },
  },
  'simulate-uma-receive': { settlement: () => 'SANDBOX', lookUp: null },
};

/** Only after somebody executed or rejected the transaction does it get a status that counts as EXECUTED. */
export function executionFinding({
  failureReason,
  status,
}: Pick<Transaction, 'status' | 'failureReason'>): LookUpFinding {
  switch (status) {
    case 'PROCESSING':
    case 'SENT':
    case 'COMPLETED':
    case 'REJECTED':
    case 'REFUNDED':
      return 'EXECUTED';
    case 'FAILED':
      return failureReason === 'QUOTE_EXPIRED' ? 'REFUSED' : 'EXECUTED';
    case 'EXPIRED':
      return 'REFUSED';
    case 'CREATED':
    case 'PENDING':
      return 'NOT_YET';
    default:
      return 'UNCLEAR';
  }
}

function rejectionSubject(entry: Pick<Entry, 'fieldsJson'>): SubjectIds | null {
  const fields = keptFields('reject-transaction', entry);
  return fields === null ? null : { transactionId: fields.transactionId, quoteId: null };
}

export function rejectionFinding({ status }: Pick<Transaction, 'status'>): LookUpFinding {
  switch (status) {
    case 'REJECTED':
      return 'EXECUTED';
    case 'PENDING':
      return 'NOT_YET';
    // The interface does not say which status a rejected payment shows while its refund is under way.
    case 'PROCESSING':
    case 'SENT':
      return 'OPEN';
    // The payment has arrived.
    case 'COMPLETED':
      return 'REFUSED';
    // A rejected payment may show a later status than REJECTED; we do not know which.
    default:
      return 'UNCLEAR';
  }
}
