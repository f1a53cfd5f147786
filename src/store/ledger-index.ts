/**
 * What the ledger topic says, lane by lane: fed by the ledger reader with every record in order, read by lanes when
 * they are acquired and when a key arrives that they do not hold themselves.
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
  /** When the broker wrote it, by its clock; 0: not known, for it was written under a clock of ours. */
  readonly timestampMs: number;
}

/** How far a lane's part of the ledger has been applied. */
export interface Checkpoint {
  /** Everything below; 0: nothing. */
  readonly nextOffset: bigint;
  /** The latest timestamp among the records applied: the brokers' time is this or later. */
  readonly timestampMs: number;
  /** When records were applied last, by our clock. */
  readonly appliedMs: number;
}

/** Instants before which entries were completed and transactions seen last, by our clocks and by the brokers'. */
export interface LedgerTimes {
  readonly doneMs: number;
  readonly transactionMs: number;
}

/** Results UNKNOWN of one command in one lane, which wait for an operator's decision. */
export interface UnknownResults {
  readonly command: CommandType;
  readonly count: number;
  /** When the oldest of them was completed. */
  readonly oldestMs: number;
}

/** One of them. */
export interface UnknownResult {
  /** Of the command, without the prefix of the ledger. */
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
   * Values of the lane's transaction states, those that are not at rest first, then those at rest since the instant. In
   * groups, for a pause after each: what is written meanwhile may be missing.
   */
  transactions(lane: number, restingSinceMs: number): Iterable<Buffer[]>;
  owner(lane: number): OwnerRecord | undefined;
  /** Who may write to the lane: has claimed it, and was neither fenced since nor has released it. */
  claims(lane: number): Claim[];
  position(lane: number): PositionRecord | undefined;
  /** Whole keys of what may be forgotten: entries that are done, oldest first, then transactions at rest. Never UNKNOWN. */
  expired(lane: number, before: LedgerTimes, limit: number): string[];
  /** Commands remembered, all lanes. */
  size(): number;
}
