/**
 * Messages that no reader gets, for they lie behind a transaction that has not been ended: in no lag, since lag ends where
 * readers may read. Pure.
 */
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';

export interface HeldBack {
  readonly messages: number;
  /** Where readers may not go on. */
  readonly stableOffset: bigint;
  /** Since when that has been seen. */
  readonly sinceMs: number;
}

/** Kafka ends the processor's own after their timeout, 15 s, when it looks next, every 10 s by default. */
const OWN_LASTS_MS_MAX = 30_000;

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

/** One of the processor's own, which lasts longer than any that Kafka will still end. */
export function isForgotten(held: HeldBack, nowMs: number): boolean {
  return nowMs - held.sinceMs >= OWN_LASTS_MS_MAX;
}
