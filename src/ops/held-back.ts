/**
 * Messages that no reader gets, because they lie behind an open transaction. No lag counts them: lag ends where readers must
 * stop. Pure.
 */
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';

export interface HeldBack {
  readonly messages: number;
  /** The offset at which readers must stop. */
  readonly stableOffset: bigint;
  /** When we first saw that. */
  readonly sinceMs: number;
}

/** Kafka ends the processor's own transactions after their timeout (15 s). It checks every 10 s by default. */
const OWN_LASTS_MS_MAX = 30_000;

/**
 * @param highWatermark asked before the offsets, so that messages that arrive in between do not count
 * @param earlier the previous finding for the partition
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

/** A transaction of the processor itself that lasts longer than any that Kafka will still end. */
export function isForgotten(held: HeldBack, nowMs: number): boolean {
  return nowMs - held.sinceMs >= OWN_LASTS_MS_MAX;
}
