/** The partitions of a reader's topics, and their bounds. */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { partitionOffsets, type PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { creationCommand } from 'payment-processor-contract/topics';

export interface Bounds extends PartitionOffsets {
  readonly topic: string;
  readonly partition: number;
}

export class TopicsMissingError extends Error {
  constructor(missing: readonly string[]) {
    super(
      `${missing.length === 1 ? 'topic' : 'topics'} ${missing.join(', ')} missing: run \`${creationCommand(missing)}\`, or see TOPIC_PREFIX (Kafka hides topics from users without rights on them; check with \`doctor --rights\`)`,
    );
    this.name = 'TopicsMissingError';
  }
}

/**
 * @param sinceMs earlier records do not count; null: all count
 * @throws the client's error when no broker answers; TopicsMissingError
 */
export async function readBounds(
  kafka: Kafka,
  topics: readonly string[],
  sinceMs: number | null = null,
): Promise<Bounds[]> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !listed.has(topic));
    if (missing.length > 0) throw new TopicsMissingError(missing);
    const bounds: Bounds[] = [];
    for (const topic of topics) {
      const first = sinceMs === null ? [] : await admin.fetchTopicOffsetsByTimestamp(topic, sinceMs);
      const lows = new Map(first.map(({ offset, partition }) => [partition, BigInt(offset)]));
      for (const [partition, { high, low }] of await partitionOffsets(admin, topic)) {
        bounds.push({ topic, partition, low: lows.get(partition) ?? low, high });
      }
    }
    return bounds;
  });
}
