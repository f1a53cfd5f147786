/** Deletes a topic and waits until no broker lists it: the controller answers before the brokers know. */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { eventually } from './watch.ts';

export async function deleteTopic(kafka: Kafka, topic: string): Promise<void> {
  await withAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic] }));
  await eventually(
    () => withAdmin(kafka, (admin) => admin.listTopics()),
    (topics) => !topics.includes(topic),
    `the deletion of ${topic}`,
  );
}
