/**
 * Messages that no reader gets, for they lie behind a transaction that their publisher has not ended: in no lag, since
 * lag ends where readers may read. Pure.
 */
import type { PartitionOffsets } from '../consumers/partition-offsets.ts';

export interface HeldBack {
  readonly messages: number;
  /** Where readers may not go on. */
  readonly stableOffset: bigint;
  /** Since when that has been seen. */
  readonly sinceMs: number;
}

/**
 * @param highWatermark asked before the offsets, so that none of what came meanwhile counts
 * @param earlier what was known of the partition before
 * @returns null: nothing is held back
 */
export function heldBack(
  offsets: PartitionOffsets,
  highWatermark: bigint,
  earlier: HeldBack | null,
  askedMs: number,
): HeldBack | null {
  const stableOffset = offsets.high;
  if (highWatermark <= stableOffset) return null;
  const sinceMs = earlier?.stableOffset === stableOffset ? earlier.sinceMs : askedMs;
  return { messages: Number(highWatermark - stableOffset), stableOffset, sinceMs };
}
