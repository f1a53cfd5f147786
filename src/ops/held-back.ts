/**
 * Messages that no reader gets, because they lie behind an open transaction. Lag does not count them: it ends where readers
 * must stop. Pure.
 */
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';

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
