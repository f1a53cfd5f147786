/**
 * Whether processes that read other topics use our consumer group. The group's leader divides the lanes among all its members. A
 * lane that a member of another TOPIC_PREFIX gets is read there, and by none of our own members.
 */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { topicNames } from 'payment-processor-contract/topics';
import { subscribedTopics } from './member-note.ts';

/** @returns the problem, and what to do; null: Kafka's current description of the group shows none */
export async function strangersInGroup(
  kafka: Kafka,
  { KAFKA_GROUP_ID, TOPIC_PREFIX }: { readonly KAFKA_GROUP_ID: string; readonly TOPIC_PREFIX: string },
): Promise<string | null> {
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([KAFKA_GROUP_ID]));
  const own = new Set(Object.values(topicNames(TOPIC_PREFIX).commands));
  for (const { memberMetadata } of groups.flatMap(({ members }) => members)) {
    // None: the group is between two generations.
    const topics = subscribedTopics(memberMetadata);
    if (topics[0] === undefined || topics.some((topic) => own.has(topic))) continue;
    return (
      `KAFKA_GROUP_ID ${KAFKA_GROUP_ID} is also used by a process that reads ${topics[0]}, but TOPIC_PREFIX here is ${TOPIC_PREFIX}. ` +
      'Set a different KAFKA_GROUP_ID for each prefix: a group divides the lanes among all its members'
    );
  }
  return null;
}
