/**
 * What waits before a lane: the lag of an input, messages that no reader gets, and whether the lane has stalled. Pure.
 *
 * Lag comes from the lane's position (else the group's offset) and the partition's end. We know the timestamp of the oldest waiting
 * message only after fetching it. Until then (the lane is not open, or fetching is stuck) the age is how long we have seen lag at this
 * position. It is less than the true age, but it grows.
 */
import { ADMISSION_CAUSES, type InputStatus, type LaneStage, type LaneStatus } from '../lanes/lane-status.ts';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';

/** Why messages are not admitted: the lane is catching up, must wait, or is not open. */
export const NOT_ADMITTED_CAUSES = ['catching-up', ...ADMISSION_CAUSES, 'registry', 'lane-not-open'] as const;
export type NotAdmittedCause = (typeof NOT_ADMITTED_CAUSES)[number];

/** The end of an input's partition and the group's offset, as far as known. */
export interface KnownOffsets {
  /** Offset after the last record; null when Kafka has not answered yet. */
  readonly endOffset: bigint | null;
  /** The group's offset; the partition's first offset if there is none or it is out of range; null if unknown. */
  readonly groupOffset: bigint | null;
}

export interface InputLag {
  /** Null while the position or the end of the partition is unknown. */
  readonly messages: number | null;
  /** Null without known lag. */
  readonly oldestSeconds: number | null;
  /** Null without known lag. */
  readonly cause: NotAdmittedCause | null;
  readonly position: bigint | null;
  /** When we first saw lag at this position; null without known lag. */
  readonly sinceMs: number | null;
}

export const NO_LAG: InputLag = { messages: null, oldestSeconds: null, cause: null, position: null, sinceMs: null };

/** @param earlier the previous result for this input */
export function inputLag(
  stage: LaneStage,
  input: InputStatus,
  offsets: KnownOffsets,
  earlier: InputLag,
  nowMs: number,
): InputLag {
  const position = input.position ?? later(offsets.groupOffset, earlier.position);
  const endOffset = offsets.endOffset ?? (input.highWatermark > 0n ? input.highWatermark : null);
  if (position === null || endOffset === null) return { ...NO_LAG, position };
  // The known end may be older than the position. Then only messages that are fetched but not admitted count.
  const messages = endOffset > position ? Number(endOffset - position) : input.buffered;
  if (messages === 0) return { ...NO_LAG, messages, position };
  const sinceMs = (earlier.position === position ? earlier.sinceMs : null) ?? nowMs;
  const oldestSeconds = ageSeconds(input.oldestTimestampMs ?? sinceMs, nowMs);
  return { messages, oldestSeconds, cause: causeOf(stage, input), position, sinceMs };
}

function causeOf(stage: LaneStage, input: InputStatus): NotAdmittedCause {
  return stage === 'open' ? (input.cause ?? 'catching-up') : 'lane-not-open';
}

function later(left: bigint | null, right: bigint | null): bigint | null {
  if (left === null || right === null) return left ?? right;
  return left > right ? left : right;
}

/** Other clocks set the instants: if one is ahead of ours, the age is 0, not negative. */
export function ageSeconds(sinceMs: number, nowMs: number): number {
  return Math.max(0, nowMs - sinceMs) / 1000;
}

/** Messages behind an open transaction. Lag does not count them: it ends where readers must stop. */
export interface HeldBack {
  readonly messages: number;
  /** The last stable offset: readers must stop there. */
  readonly stableOffset: bigint;
  /** When we first saw readers stop there. */
  readonly sinceMs: number;
}

/** Kafka ends the processor's own transactions after their timeout (15 s), which it checks every 10 s by default. */
const OWN_TRANSACTION_MS_MAX = 30_000;

/**
 * @param highWatermark read before the offsets, so that messages that arrive in between do not count
 * @param earlier the last finding for the partition
 * @returns null: nothing is held back
 */
export function heldBack(
  offsets: PartitionOffsets,
  highWatermark: bigint,
  earlier: HeldBack | null,
  askedMs: number,
): HeldBack | null {
  // To readers of committed records, a partition ends at its last stable offset.
  const stableOffset = offsets.high;
  if (highWatermark <= stableOffset) return null;
  const sinceMs = earlier?.stableOffset === stableOffset ? earlier.sinceMs : askedMs;
  return { messages: Number(highWatermark - stableOffset), stableOffset, sinceMs };
}

/** For partitions that only the processor writes: whether Kafka should have ended the transaction by now. */
export function isHanging(held: HeldBack, nowMs: number): boolean {
  return nowMs - held.sinceMs >= OWN_TRANSACTION_MS_MAX;
}

/**
 * Detects a stalled lane: it is open and has something to commit, but commits nothing. That means a transaction in progress, or
 * messages that the lane could admit. A call under way does not count, nor does work that a breaker, a limit or a full lane holds
 * back.
 * @param earlierMs what this returned for the lane at the previous reading; null: it had nothing to commit
 * @returns since when it has committed nothing; null: it has nothing to commit, or is not open
 */
export function uncommittedSinceMs(
  lane: LaneStatus,
  lags: readonly InputLag[],
  earlierMs: number | null,
  nowMs: number,
): number | null {
  if (lane.stage !== 'open') return null;
  const isAdmitting = lags.some(({ cause }) => cause === 'catching-up');
  if (lane.isIdle && !isAdmitting) return null;
  // A message that arrives after a quiet hour has not waited for an hour.
  return Math.min(nowMs, Math.max(earlierMs ?? nowMs, lane.committedMs));
}
