/** The partitions of a reader's topics, and their bounds. */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import {
  partitionOffsets,
  writtenOffsets,
  type PartitionOffsets,
} from 'payment-processor-contract/kafka/partition-offsets';
import { laneOf } from 'payment-processor-contract/keys';
import { missingTopicsRemedy } from 'payment-processor-contract/topics';

export interface Bounds extends PartitionOffsets {
  readonly topic: string;
  readonly partition: number;
}

export class TopicsMissingError extends Error {
  constructor(missing: readonly string[]) {
    const noun = missing.length === 1 ? 'topic' : 'topics';
    super(`${noun} ${missing.join(', ')} missing: ${missingTopicsRemedy(missing)}`);
    this.name = 'TopicsMissingError';
  }
}

/**
 * @param sinceMs ignores earlier records; null: counts all
 * @param isOpenCounted ends after the last record written, though its transaction may be open
 * @throws the client's error when no broker answers; TopicsMissingError
 */
export async function readBounds(
  kafka: Kafka,
  topics: readonly string[],
  sinceMs: number | null = null,
  isOpenCounted = false,
): Promise<Bounds[]> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !listed.has(topic));
    if (missing.length > 0) throw new TopicsMissingError(missing);
    const bounds: Bounds[] = [];
    for (const topic of topics) {
      const first = sinceMs === null ? [] : await admin.fetchTopicOffsetsByTimestamp(topic, sinceMs);
      const lows = new Map(first.map(({ offset, partition }) => [partition, BigInt(offset)]));
      const written = isOpenCounted ? await writtenOffsets(admin, topic) : new Map<number, bigint>();
      for (const [partition, { high, low }] of await partitionOffsets(admin, topic)) {
        bounds.push({ topic, partition, low: lows.get(partition) ?? low, high: written.get(partition) ?? high });
      }
    }
    return bounds;
  });
}

/**
 * A key's lane. If somebody added partitions to a topic, its own count would lead to a lane that never had the key.
 * Kafka never removes partitions, so the smallest count among the topics is LANES.
 * @param topics created with LANES partitions; those that this user cannot see do not count
 * @returns 0 if the user can see none of them
 * @throws the client's error when no broker answers
 */
export async function laneOfKey(kafka: Kafka, topics: readonly string[], key: string): Promise<number> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const seen = topics.filter((topic) => listed.has(topic));
    const metadata = seen.length === 0 ? { topics: [] } : await admin.fetchTopicMetadata({ topics: seen });
    const counts = metadata.topics.map(({ partitions }) => partitions.length);
    return counts.length === 0 ? 0 : laneOf(key, Math.min(...counts));
  });
}
