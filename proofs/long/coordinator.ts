/** Which broker coordinates a group. */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';

/** @returns its index, from 0: it leads the group's partition */
export async function coordinatorOf(kafka: Kafka, groupId: string): Promise<number> {
  const { topics } = await withAdmin(kafka, (admin) => admin.fetchTopicMetadata({ topics: ['__consumer_offsets'] }));
  const partitions = topics[0]?.partitions ?? [];
  const hash = Buffer.from(groupId).reduce((sum, byte) => (Math.imul(31, sum) + byte) | 0, 0);
  const partition = Math.abs(hash) % partitions.length;
  return (partitions.find(({ partitionId }) => partitionId === partition)?.leader ?? 0) - 1;
}
