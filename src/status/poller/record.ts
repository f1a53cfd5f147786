/** The poller's progress that outlives its process: a record of lane 0's ledger. */
import { InternalRecord } from '../../ledger/ledger-value.ts';

export const POLL_KEY = '!poll';

/** A range of creation times, both ends included; milliseconds since 1970 by the service's clock. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface PollRecord {
  /** We announce unknown transactions from this creation time on. */
  readonly startMs: number;
  /** Every transaction created before this time has been listed at least once, except those of `unlisted`. */
  readonly discoveredToMs: number;
  /** Creation times that were never listed, ascending and disjoint. Those from `startMs` on are listed bit by bit. */
  readonly unlisted: readonly TimeRange[];
  /** What is left of the sweep under way (`agenda.ts`), and when the last sweep was complete. */
  readonly sweep: TimeRange | null;
  readonly sweptAtMs: number | null;
  /** After how long states at rest were forgotten when this was written; 0: not recorded. */
  readonly forgottenAfterMs: number;
  /** States of transactions created before this may have been forgotten after a shorter time than now. */
  readonly forgottenToMs: number;
}

export const pollRecords = new InternalRecord<PollRecord>('PollPosition');
