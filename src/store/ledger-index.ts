/**
 * The content of the ledger topic by lane. The ledger reader feeds it every record in order. Lanes read it when they are acquired, and
 * when a key arrives that they do not have in memory.
 */
import type { Entry } from '../ledger/entry.ts';
import type { Claim, OwnerRecord, PositionRecord } from '../ledger/ledger-records.ts';
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

/** Instants by our clocks and the brokers': entries completed, and transactions last seen, before them may be forgotten. */
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

export interface LedgerIndex {
  /** Takes records of the topic in order, and the offset that follows them; all of them or none. */
  applyBatch(lane: number, records: readonly LedgerRecord[], nextOffset: bigint): void;
  checkpoint(lane: number): Checkpoint;
  entry(lane: number, key: string): Entry | undefined;
  /** Any other record of the lane, by its whole key. */
  value(lane: number, key: string): Buffer | undefined;
  unfinished(lane: number): Entry[];
  /**
   * Values of the lane's transaction states: first those not at rest, then those at rest since the instant. They come in groups, for
   * a pause after each; records written meanwhile may be missing.
   */
  transactions(lane: number, restingSinceMs: number): Iterable<Buffer[]>;
  owner(lane: number): OwnerRecord | undefined;
  /** Processes that may write to the lane: they have claimed it, and have neither been fenced nor released it. */
  claims(lane: number): Claim[];
  position(lane: number): PositionRecord | undefined;
  /** Keys, with prefix, that may be forgotten: done entries, oldest first, then transactions at rest. Never UNKNOWN. */
  expired(lane: number, before: LedgerTimes, limit: number): string[];
  /** Commands remembered, all lanes. */
  size(): number;
}
