/** Deletes records as retention does, or an operator with Kafka's tool. */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';

/** Deletes all that the partition holds. */
export async function deleteRecords(kafka: Kafka, topic: string, partition: number): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    // Also makes the client load the partition's leader, which the deletion itself does not.
    const ends = await admin.fetchTopicOffsets(topic);
    const offset = ends.find((end) => end.partition === partition)?.high;
    if (offset === undefined) throw new Error(`${topic} has no partition ${partition}`);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset }] });
  });
}
