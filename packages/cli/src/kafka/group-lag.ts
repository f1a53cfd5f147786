/**
 * What of the command topics a group has not admitted yet, by lane. Only asks: nothing is committed or consumed.
 *
 * The end is the last stable offset, as kafkajs' admin client always asks: records behind a transaction that a publisher
 * left open are not counted until it ends.
 */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { partitionOffsets, readsFrom } from 'payment-processor-contract/kafka/partition-offsets';

export interface LaneLag {
  topic: string;
  /** The partition, which is the lane. */
  lane: number;
  /** Offset after the last committed record. */
  endOffset: bigint;
  /** The group's committed offset; null when it has committed none, and all that the topic holds counts. */
  groupOffset: bigint | null;
  /** Offsets from the group's to the end; the markers of publishers' transactions count as well. */
  lag: bigint;
}

/**
 * @returns one entry per topic and lane, and the topics that do not exist
 * @throws the client's error when no broker answers or the group may not be described
 */
export async function readGroupLag(
  kafka: Kafka,
  groupId: string,
  topics: readonly string[],
): Promise<{ lanes: LaneLag[]; missing: string[] }> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const existing = topics.filter((topic) => listed.has(topic));
    const missing = topics.filter((topic) => !listed.has(topic));
    if (existing.length === 0) return { lanes: [], missing };
    const groupOffsets = new Map(
      (await admin.fetchOffsets({ groupId, topics: existing })).flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => [`${topic}/${partition}`, BigInt(offset)] as const),
      ),
    );
    const lanes: LaneLag[] = [];
    for (const topic of existing) {
      const byLane = [...(await partitionOffsets(admin, topic))].sort(([left], [right]) => left - right);
      for (const [lane, bounds] of byLane) {
        const committed = groupOffsets.get(`${topic}/${lane}`) ?? -1n;
        const groupOffset = committed < 0n ? null : committed;
        const lag = bounds.high - readsFrom(bounds, committed);
        lanes.push({ topic, lane, endOffset: bounds.high, groupOffset, lag });
      }
    }
    return { lanes, missing };
  });
}
