/** Topics that can be used as soon as they are made. */
import type { ITopicConfig, Kafka } from 'kafkajs';
import { withAdmin } from './admin-session.ts';

/** Longest that the brokers may take to make the topics. */
const CREATION_TIMEOUT_MS = 15_000;

/** @throws the broker's error, such as a replication factor beyond the brokers */
export async function makeUsableTopics(kafka: Kafka, topics: ITopicConfig[]): Promise<void> {
  await withAdmin(kafka, (admin) =>
    // kafkajs takes a broker that has not heard of a new topic yet for an error; we wait ourselves.
    admin.createTopics({ waitForLeaders: false, timeout: CREATION_TIMEOUT_MS, topics }),
  );
  // Each partition's leader answers for its offsets: the topics can be used.
  await withAdmin(kafka, async (admin) => {
    for (const { topic } of topics) await admin.fetchTopicOffsets(topic);
  });
}
