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

/** When we first saw lag at a position. */
export interface Waiting {
  readonly position: bigint;
  readonly sinceMs: number;
}

export interface InputLag {
  /** Null while the position or the end of the partition is unknown. */
  readonly messages: number | null;
  /** Null without lag. */
  readonly oldestMs: number | null;
  /** Null without lag. */
  readonly cause: NotAdmittedCause | null;
  readonly position: bigint | null;
  /** Pass it to the next computation; null without lag. */
  readonly waiting: Waiting | null;
}

/**
 * @param lastPosition `position` of the previous result for this input; `waiting` likewise
 */
export function inputLag(
  stage: LaneStage,
  input: InputStatus,
  offsets: KnownOffsets,
  lastPosition: bigint | null,
  waiting: Waiting | null,
  nowMs: number,
): InputLag {
  const position = input.position ?? later(offsets.groupOffset, lastPosition);
  const endOffset = offsets.endOffset ?? (input.highWatermark > 0n ? input.highWatermark : null);
  if (position === null || endOffset === null) {
    return { messages: null, oldestMs: null, cause: null, position, waiting: null };
  }
  // The known end may be older than the position. Then only messages that are fetched but not admitted count.
  const messages = endOffset > position ? Number(endOffset - position) : input.buffered;
  if (messages === 0) return { messages, oldestMs: null, cause: null, position, waiting: null };
  const stillWaiting = waiting?.position === position ? waiting : { position, sinceMs: nowMs };
  const oldestMs = Math.max(0, nowMs - (input.oldestTimestampMs ?? stillWaiting.sinceMs));
  return { messages, oldestMs, cause: causeOf(stage, input), position, waiting: stillWaiting };
}

function causeOf(stage: LaneStage, input: InputStatus): NotAdmittedCause {
  return stage === 'open' ? (input.cause ?? 'catching-up') : 'lane-not-open';
}

function later(left: bigint | null, right: bigint | null): bigint | null {
  if (left === null || right === null) return left ?? right;
  return left > right ? left : right;
}
