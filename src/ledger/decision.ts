/** The events of an entry, and the decisions on them. */
import type { Reading } from '../api/types.ts';
import type { CommandResult, Quote, Transaction } from 'payment-processor-contract/types';
import type { Copy, Entry, UnphasedEntry } from './entry.ts';
import type { LookUpQuery } from './plan.ts';

/** A call that is about to be made. */
export interface Attempt {
  readonly attemptId: string;
  readonly processId: string;
  /** The call is not sent earlier than this. */
  readonly notBeforeMs: number;
}

export type LedgerEvent =
  /** The call of the attempt, begun at `beganMs`, ended. */
  | { kind: 'answered'; attemptId: string; reading: Reading; beganMs: number; nowMs: number }
  /** The parked, doubtful or quoted entry is due. If it is to be called, `attempt` is for its intent. */
  | { kind: 'due'; nowMs: number; attempt: Attempt }
  /** The INTENT is another process's, or we no longer know its call. It ends by `endedMs`, which may lie ahead. */
  | { kind: 'orphaned'; endedMs: number }
  /** The call of the present INTENT certainly did not begin, and will not under this intent. */
  | { kind: 'not-begun'; attemptId: string; nowMs: number; reason: string }
  /** The look-up of the transaction ended. It was requested after the settling time of the last of `attempts` calls. */
  | {
      kind: 'looked-up';
      attempts: number;
      finding: LookUpOutcome;
      /** An earlier status of the transaction that shows an effect; null: we saw none. */
      effectStatus: string | null;
      nowMs: number;
    }
  /** Another message with this key and content. */
  | { kind: 'copied'; copy: Copy }
  /** Handling this entry made our own code fail. */
  | { kind: 'failed'; nowMs: number; problem: string };

/** An answer's quote or transaction, to be observed for the status changes. */
export interface Seen {
  quote: Quote | null;
  transaction: Transaction | null;
}

/** The outcome of a look-up. */
export type LookUpOutcome =
  { kind: 'found'; transaction: Transaction } | { kind: 'not-found' } | { kind: 'failed'; reason: string };

export type Decision =
  | { kind: 'unchanged' }
  | { kind: 'next'; entry: Entry; seen: Seen | null }
  /** Its transaction must be looked up; the entry stays as it is. */
  | { kind: 'look-up'; query: LookUpQuery }
  /** The entry is done with this result, once the event is encoded. */
  | { kind: 'finish'; entry: UnphasedEntry; result: CommandResult; seen: Seen | null };
