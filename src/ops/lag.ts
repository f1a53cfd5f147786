/**
 * Lag of one input, from what the lane says of it and where the broker says its partition ends. Pure.
 *
 * The oldest waiting message has a timestamp only when it has been fetched. While nothing is fetched (the lane is not
 * open, or fetching is stuck) the age is how long the lag has been seen at this position: less than the truth, but it
 * grows.
 */
import type { AdmissionCause } from '../lanes/admission.ts';
import type { InputStatus, LaneStage } from '../lanes/lane-status.ts';

/** Why messages are not admitted: of a lane that works them off, of one that must wait, or of one that is not open. */
export type NotAdmittedCause = AdmissionCause | 'registry' | 'catching-up' | 'lane-not-open';

/** Where an input's partition ends and where the group stands, as far as it is known. */
export interface KnownOffsets {
  /** Offset after the last record; null when Kafka has not answered yet. */
  readonly endOffset: bigint | null;
  /** The group's committed offset, or the first one when it has committed none; null when it is not known. */
  readonly groupOffset: bigint | null;
}

/** How long lag was seen at a position. */
export interface Waiting {
  readonly position: bigint;
  readonly sinceMs: number;
}

export interface InputLag {
  /** Null when neither the lane nor the broker says where it stands. */
  readonly messages: number | null;
  /** Null without lag. */
  readonly oldestMs: number | null;
  /** Null without lag. */
  readonly cause: NotAdmittedCause | null;
  readonly position: bigint | null;
  /** To be handed in the next time; null without lag. */
  readonly waiting: Waiting | null;
}

/**
 * @param lastPosition where the lane stood when it was last open in this process, if it was
 * @param waiting what the last computation returned for this input
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
  const messages = endOffset > position ? Number(endOffset - position) : input.held;
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
