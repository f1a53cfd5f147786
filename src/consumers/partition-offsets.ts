/** Where the partitions of a topic begin and end, as one admin client is told. */
import type { Admin } from 'kafkajs';

export interface PartitionOffsets {
  /** Of the first record. */
  readonly low: bigint;
  /** After the last one that is committed. */
  readonly high: bigint;
}

export async function partitionOffsets(admin: Admin, topic: string): Promise<Map<number, PartitionOffsets>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]));
}
