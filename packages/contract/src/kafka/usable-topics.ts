/** Creates topics and waits until they can be used. */
import type { ITopicConfig, Kafka } from 'kafkajs';
import { withAdmin } from './admin-session.ts';

/** How long the brokers may take to create the topics. */
const CREATION_TIMEOUT_MS = 15_000;

/** @throws the broker's error, such as a replication factor beyond the brokers */
export async function makeUsableTopics(kafka: Kafka, topics: ITopicConfig[]): Promise<void> {
  await withAdmin(kafka, (admin) =>
    // kafkajs treats a broker that does not know a new topic yet as an error, so we wait ourselves.
    admin.createTopics({ waitForLeaders: false, timeout: CREATION_TIMEOUT_MS, topics }),
  );
  // Once each partition's leader returns offsets, the topics can be used.
  await withAdmin(kafka, async (admin) => {
    for (const { topic } of topics) await admin.fetchTopicOffsets(topic);
  });
}
