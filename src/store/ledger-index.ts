/** What goes into the ledger's index, and what it says about a lane. */
import type { CommandType } from 'payment-processor-contract/commands';

/** One record of the ledger topic. */
export interface LedgerRecord {
  readonly key: string;
  /** Null: a tombstone. */
  readonly value: Buffer | null;
  readonly offset: bigint;
  /** When the broker wrote it, by its clock; 0: unknown, because a clock of ours set the timestamp. */
  readonly timestampMs: number;
}

/** How far a lane's part of the ledger has been applied. */
export interface Checkpoint {
  /** Everything before this offset is applied; 0: nothing is. */
  readonly nextOffset: bigint;
  /** The latest timestamp among the records applied: the brokers' time is this or later. */
  readonly timestampMs: number;
  /** When records were applied last, by our clock. */
  readonly appliedMs: number;
}

/** Cut-offs of retention: an entry completed before `doneMs` may be forgotten, as may a transaction last seen before `transactionMs`. */
export interface LedgerTimes {
  readonly doneMs: number;
  readonly transactionMs: number;
}

/** UNKNOWN results of one command in one lane; they wait for an operator's decision. */
export interface UnknownResults {
  readonly command: CommandType;
  readonly count: number;
  /** When the oldest of them was completed. */
  readonly oldestMs: number;
}

/** One UNKNOWN result. */
export interface UnknownResult {
  /** Key of the command, without the prefix of the ledger. */
  readonly key: string;
  readonly command: CommandType;
  readonly completedMs: number;
}
