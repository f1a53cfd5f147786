/** The state of one transaction and its quote: a record of the lane's ledger, and the last state of the reducer's fold. */
import type { Carried } from '../ledger/entry.ts';
import { InternalRecord, readable, VALUE_CLASS } from '../ledger/ledger-value.ts';
import { executionFinding, rejectionFinding } from '../ledger/operations.ts';
import { isFinalStatus } from 'payment-processor-contract/statuses';
import type { Transaction } from 'payment-processor-contract/types';

export interface TransactionState {
  /** The transaction's id; known even if only its quote was seen. */
  readonly id: string;
  readonly status: string | null;
  readonly updatedAt: string | null;
  /** The last status seen that shows a payment executed or rejected; kept even if the service takes it back. */
  readonly effectStatus: string | null;
  /** When the service created the transaction, or its quote until it is seen; the poller searches around that time. */
  readonly createdAt: string | null;
  /** When the present terminal status was first observed; null while the transaction is open. */
  readonly terminalSinceMs: number | null;
  /** When the first observation of unclear order was written, by the brokers' clock; the poller looks again. */
  readonly unclearSinceMs: number | null;
  /** The latest requests that showed the present status: when they began and ended, and who made them. */
  readonly seenBeganMs: number;
  readonly seenEndedMs: number;
  readonly seenBy: string | null;
  /** Transaction status events so far. */
  readonly changes: number;
  readonly quoteId: string | null;
  readonly quoteStatus: string | null;
  /** The quote's status is derived from the transaction's, and follows it from now on. */
  readonly quoteIsDerived: boolean;
  readonly quoteSeenEndedMs: number;
  readonly quoteExpiresAt: string | null;
  readonly quoteChanges: number;
  /** Commands that had an effect on it, in the order of their last effects. Beyond the limit, the first and the latest. */
  readonly commandKeys: readonly string[];
  /** Headers of the last of these commands. */
  readonly carried: Carried;
}

/** Bounds the state and its events. */
export const COMMAND_KEYS_MAX = 16;

export function unseenState(id: string): TransactionState {
  return {
    id,
    status: null,
    updatedAt: null,
    effectStatus: null,
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
    commandKeys: [],
    carried: {},
  };
}

/** Whether nothing is known but an effect that was noted. */
export function isOnlyEffect({ commandKeys, quoteId, status }: TransactionState): boolean {
  return status === null && quoteId === null && commandKeys.length === 0;
}

/** The state after a command had an effect on it. */
export function withCommand(state: TransactionState, key: string, carried: Carried): TransactionState {
  const keys = [...state.commandKeys.filter((known) => known !== key), key];
  const commandKeys = keys.length > COMMAND_KEYS_MAX ? [...keys.slice(0, 1), ...keys.slice(2)] : keys;
  return { ...state, commandKeys, carried };
}

const records = new InternalRecord<TransactionState>('TransactionState');

export function encodeTransactionState(state: TransactionState): Buffer {
  const restingMs = restingSinceMs(state);
  return records.encodeAs(restingMs === null ? VALUE_CLASS.kept : VALUE_CLASS.transaction, restingMs ?? 0, state);
}

/** @throws LedgerFormatError for any other value */
export function decodeTransactionState(value: Buffer): TransactionState {
  return records.decode(value);
}

/** Null for an unreadable record. Its lane reports it at the transaction's next event; no other lane stops for it. */
export function readableState(value: Buffer): TransactionState | null {
  return readable(() => decodeTransactionState(value)) ?? null;
}

/**
 * The last status that shows an effect, after the transaction was seen. A status that a rejection may have caused
 * stays: an outdated view may later show the payment under way, and would seem to prove that it was not rejected.
 */
export function effectAfter(
  known: string | null,
  transaction: Pick<Transaction, 'failureReason' | 'status'>,
): string | null {
  if (executionFinding(transaction) !== 'EXECUTED') return known;
  return mayBeRejected({ status: known }) && !mayBeRejected(transaction) ? known : transaction.status;
}

function mayBeRejected(shown: Pick<Transaction, 'status'>): boolean {
  return shown.status !== null && ['EXECUTED', 'UNCLEAR'].includes(rejectionFinding(shown));
}

/** Whether a payment was open in the known status, and ended in the shown one. */
export function endsIn(shown: string | null, known: string | null): boolean {
  return isFinalStatus(shown) && !isFinalStatus(known);
}

/**
 * Since when the state has been at rest; null if changes may still come, however late. A quote without a transaction lives only
 * minutes. Changes of an executed quote come with its transaction.
 */
export function restingSinceMs(state: TransactionState): number | null {
  const isOpen = state.status !== null && !isFinalStatus(state.status);
  return isOpen || state.unclearSinceMs !== null ? null : Math.max(state.seenEndedMs, state.quoteSeenEndedMs);
}

/** Far beyond this, an instant plus a margin is out of a Date's range. The error would end each poller session. */
const INSTANT_MS_MAX = Date.parse('9999-12-31T23:59:59.999Z');

/** A timestamp of the service in milliseconds since 1970; null if it is missing, not understood, or after the year 9999. */
export function instantOf(text: string | null): number | null {
  const ms = text === null ? NaN : Date.parse(text);
  return Number.isNaN(ms) || ms > INSTANT_MS_MAX ? null : ms;
}
