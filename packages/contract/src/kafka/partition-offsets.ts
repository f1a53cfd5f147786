/** Where the partitions of a topic begin and end, as an admin client sees it. */
import type { Admin } from 'kafkajs';

/** Isolation level of Kafka's protocol: all written records, including open transactions. */
export const READ_UNCOMMITTED = 0;

export interface PartitionOffsets {
  /** Offset of the first record. */
  readonly low: bigint;
  /** Offset after the last committed record. */
  readonly high: bigint;
}

/**
 * Where a group continues to read.
 * @param committed its offset; undefined: it has none. Outside the bounds it does not count: retention deleted its
 *   records, or the topic was recreated
 */
export function readsFrom({ high, low }: PartitionOffsets, committed: bigint | undefined): bigint {
  return committed === undefined || committed < low || committed > high ? low : committed;
}

export async function partitionOffsets(admin: Admin, topic: string): Promise<Map<number, PartitionOffsets>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]));
}

/** The offset after the last record of each partition, including open transactions. */
export async function writtenOffsets(admin: Admin, topic: string): Promise<Map<number, bigint>> {
  const [ofTopic] = await admin.fetchOffsetsOfTopics({ topics: [topic], isolationLevel: READ_UNCOMMITTED });
  return new Map((ofTopic?.partitions ?? []).map(({ partition, offset }) => [partition, BigInt(offset)]));
}
