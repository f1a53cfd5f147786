/** What is known of one transaction and its quote: a record of the lane's ledger, the last state of the reducer's fold. */
import { decodePlain, encodePlain } from '../records/plain-json.ts';

export interface TransactionState {
  /** The transaction's id, or the quote's where no transaction is known. */
  readonly id: string;
  readonly status: string | null;
  readonly updatedAt: string | null;
  /** As the service says; where the poller looks for it. */
  readonly createdAt: string | null;
  /** When a terminal status was first observed; null while it is open. Another terminal status begins anew. */
  readonly terminalSinceMs: number | null;
  /** Since when an observation is known that could not be ordered; the poller looks again. */
  readonly unclearSinceMs: number | null;
  /** The latest requests that showed the present status: when they began and ended, and who made them. */
  readonly seenBeganMs: number;
  readonly seenEndedMs: number;
  readonly seenBy: string | null;
  /** Transaction status events so far. */
  readonly changes: number;
  readonly quoteId: string | null;
  readonly quoteStatus: string | null;
  /** The quote's status follows from the transaction's, and goes with it from now on. */
  readonly quoteIsDerived: boolean;
  readonly quoteSeenEndedMs: number;
  readonly quoteExpiresAt: string | null;
  readonly quoteChanges: number;
}

export function unseenState(id: string): TransactionState {
  return {
    id,
    status: null,
    updatedAt: null,
    createdAt: null,
    terminalSinceMs: null,
    unclearSinceMs: null,
    seenBeganMs: 0,
    seenEndedMs: 0,
    seenBy: null,
    changes: 0,
    quoteId: null,
    quoteStatus: null,
    quoteIsDerived: false,
    quoteSeenEndedMs: 0,
    quoteExpiresAt: null,
    quoteChanges: 0,
  };
}

export function encodeTransactionState(state: TransactionState): Buffer {
  return encodePlain(state);
}

/** Fields that an earlier release did not write have the values of a transaction that was never seen. */
export function decodeTransactionState(value: Buffer): TransactionState {
  const plain = decodePlain(value) as Partial<TransactionState> & { id: string };
  return { ...unseenState(plain.id), ...plain };
}

const TERMINAL_STATUSES: ReadonlySet<string> = new Set(['COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED']);

/** Whether a payment usually ends there. It may change all the same: a refund, a return by the bank. */
export function isTerminal(status: string | null): boolean {
  return status !== null && TERMINAL_STATUSES.has(status);
}

/** Milliseconds since 1970 of a timestamp of the service; null for none, or one that is not understood. */
export function instantOf(text: string | null): number | null {
  const ms = text === null ? NaN : Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
