/** What can happen to an entry, and what may come of it. */
import type { Reading } from '../api/types.ts';
import type { CommandResult, Quote, Transaction } from 'payment-processor-contract/types';
import type { Copy, Entry, UnphasedEntry } from './entry.ts';
import type { LookUpQuery } from './plan.ts';

export type LedgerEvent =
  /** The call of the attempt, begun at `beganMs`, ended. */
  | { kind: 'answered'; attemptId: string; reading: Reading; beganMs: number; nowMs: number }
  /** The instant of a parked, doubtful or quoted entry has come, and a call may be made. */
  | { kind: 'due'; nowMs: number; attemptId: string; processId: string }
  /** The INTENT is another process's, or one that this process cannot vouch for; by `endedMs` its call has ended. */
  | { kind: 'orphaned'; endedMs: number }
  /** It is certain that the call of the present INTENT was not begun, and it will not be by this intent. */
  | { kind: 'not-begun'; attemptId: string; nowMs: number; reason: string }
  /** The transaction was looked for, in a scan that was asked for after the settling time of so many attempts. */
  | {
      kind: 'looked-up';
      attempts: number;
      finding: LookUpOutcome;
      /** A status of the transaction that was seen before and shows an effect; null: none was. */
      effectStatus: string | null;
      nowMs: number;
    }
  /** Another message with this key and content. */
  | { kind: 'copied'; copy: Copy }
  /** Handling this entry made our own code fail. */
  | { kind: 'failed'; nowMs: number; problem: string };

/** What an answer showed, to be observed by the status part. */
export interface Seen {
  quote: Quote | null;
  transaction: Transaction | null;
}

/** What a scan of the transactions came to. */
export type LookUpOutcome =
  { kind: 'found'; transaction: Transaction } | { kind: 'not-found' } | { kind: 'failed'; reason: string };

export type Decision =
  | { kind: 'unchanged' }
  | { kind: 'next'; entry: Entry; seen: Seen | null }
  /** Its transaction is to be looked for; the entry stays as it is. */
  | { kind: 'look-up'; query: LookUpQuery }
  /** The entry is done with this result, once the event is encoded. */
  | { kind: 'finish'; entry: UnphasedEntry; result: CommandResult; seen: Seen | null };
