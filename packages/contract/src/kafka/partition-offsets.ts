/** Where the partitions of a topic begin and end, as one admin client is told. */
import type { Admin } from 'kafkajs';

/** Of Kafka's protocol: what is written, open transactions included. */
export const READ_UNCOMMITTED = 0;

export interface PartitionOffsets {
  /** Of the first record. */
  readonly low: bigint;
  /** After the last one that is committed. */
  readonly high: bigint;
}

/**
 * Where a group reads on.
 * @param committed its offset; undefined: it has none. One that is not of the partition is of a topic that was there before
 */
export function readsFrom({ high, low }: PartitionOffsets, committed: bigint | undefined): bigint {
  return committed === undefined || committed < low || committed > high ? low : committed;
}

export async function partitionOffsets(admin: Admin, topic: string): Promise<Map<number, PartitionOffsets>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]));
}

/** After the last record of each partition, those of open transactions included. */
export async function writtenOffsets(admin: Admin, topic: string): Promise<Map<number, bigint>> {
  const [ofTopic] = await admin.fetchOffsetsOfTopics({ topics: [topic], isolationLevel: READ_UNCOMMITTED });
  return new Map((ofTopic?.partitions ?? []).map(({ partition, offset }) => [partition, BigInt(offset)]));
}
