/**
 * Lag of one input, from the lane's position and the broker's end of the partition. Pure.
 *
 * We know the timestamp of the oldest waiting message only after fetching it. While nothing is fetched (the lane is not open,
 * or fetching is stuck) the age is how long we have seen lag at this position: less than the true age, but it grows.
 */
import type { AdmissionCause } from '../lanes/admission.ts';
import type { InputStatus, LaneStage } from '../lanes/lane-status.ts';

/** Why messages are not admitted: the lane is catching up, must wait, or is not open. */
export type NotAdmittedCause = AdmissionCause | 'registry' | 'catching-up' | 'lane-not-open';

/** The end of an input's partition and the group's offset, as far as known. */
export interface KnownOffsets {
  /** Offset after the last record; null when Kafka has not answered yet. */
  readonly endOffset: bigint | null;
  /** The group's committed offset, or the first offset if it has committed none; null if unknown. */
  readonly groupOffset: bigint | null;
}

export interface InputLag {
  /** Null while the position or the end of the partition is unknown. */
  readonly messages: number | null;
  /** Null without lag. */
  readonly oldestSeconds: number | null;
  /** Null without lag. */
  readonly cause: NotAdmittedCause | null;
  readonly position: bigint | null;
  /** When we first saw lag at this position; null without lag. */
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
