/**
 * Commands that a group has not admitted yet, by topic and lane, with their age; and messages that no lag counts. Read-only:
 * it commits and consumes nothing.
 *
 * The end is the last stable offset, as kafkajs' admin client always asks: records behind a publisher's open transaction do
 * not count until it ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { placeName } from 'payment-processor-client/internal/kafka/raw-record';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { partitionOffsets, readsFrom, writtenOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import type { CliKafka } from './context.ts';
import { firstRecordsFrom } from './first-records.ts';

export interface LaneLag {
  topic: string;
  /** The partition, which is the lane. */
  lane: number;
  /** Offset after the last committed record. */
  endOffset: bigint;
  /** The group's committed offset; null: it has committed none, so the whole topic counts. */
  groupOffset: bigint | null;
  /** Offsets from the group's to the end; transaction markers count too. */
  lag: bigint;
  /** Offsets that Kafka deleted before the group's passed them; transaction markers count too. */
  deleted: bigint;
  /** When the oldest command that is not admitted was written; null: none waits. */
  oldestTimestampMs: number | null;
}

/**
 * One small read at the head of each lane that has lag.
 * @returns one entry per topic and lane, and the topics that do not exist
 * @throws the client's error when no broker answers or the group may not be described
 */
export async function readLag(
  kafka: CliKafka,
  { KAFKA_GROUP_ID: groupId, TOPIC_PREFIX }: { readonly KAFKA_GROUP_ID: string; readonly TOPIC_PREFIX: string },
  topics: readonly string[],
): Promise<{ lanes: LaneLag[]; missing: string[] }> {
  const { lanes, missing } = await withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const existing = topics.filter((topic) => listed.has(topic));
    const committed = existing.length === 0 ? [] : await admin.fetchOffsets({ groupId, topics: existing });
    const groupOffsets = new Map(
      committed.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => [placeName({ topic, partition }), BigInt(offset)] as const),
      ),
    );
    const found: Omit<LaneLag, 'oldestTimestampMs'>[] = [];
    for (const topic of existing) {
      const byLane = [...(await partitionOffsets(admin, topic))].sort(([left], [right]) => left - right);
      for (const [lane, bounds] of byLane) {
        const offset = groupOffsets.get(placeName({ topic, partition: lane })) ?? -1n;
        const lag = bounds.high - readsFrom(bounds, offset);
        const groupOffset = offset < 0n ? null : offset;
        const deleted = groupOffset !== null && groupOffset < bounds.low ? bounds.low - groupOffset : 0n;
        found.push({ topic, lane, endOffset: bounds.high, groupOffset, lag, deleted });
      }
    }
    return { lanes: found, missing: topics.filter((topic) => !listed.has(topic)) };
  });
  const waiting = lanes.map(({ endOffset: high, lag, lane: partition, topic }) => {
    return { topic, partition, low: high - lag, high };
  });
  const oldest = await firstRecordsFrom(kafka, TOPIC_PREFIX, waiting);
  const aged = lanes.map((lag) => ({
    ...lag,
    oldestTimestampMs: oldest.get(placeName({ topic: lag.topic, partition: lag.lane }))?.timestampMs ?? null,
  }));
  return { lanes: aged, missing };
}

/** The sum of the lanes, and since when their oldest command waits; null: none waits. */
export function sumOf(lanes: readonly LaneLag[]): { total: bigint; oldestTimestampMs: number | null } {
  const timestamps = lanes.map(({ oldestTimestampMs }) => oldestTimestampMs).filter((ms) => ms !== null);
  const total = lanes.reduce((sum, { lag }) => sum + lag, 0n);
  return { total, oldestTimestampMs: timestamps.length === 0 ? null : Math.min(...timestamps) };
}

/** A sentence about records that no lag counts. If somebody reset the group's offsets, they may have been admitted. */
export function deletedText({ deleted, groupOffset, lane, topic }: LaneLag): string[] {
  if (groupOffset === null || deleted === 0n) return [];
  const last = groupOffset + deleted - 1n;
  return [
    `${topic}, lane ${lane}: the records at offsets ${groupOffset} to ${last} were deleted before the group's offset passed them. If the lane is stopped, they were not admitted: see the runbook PaymentsLaneStopped`,
  ];
}

/** Messages that no reader gets yet, because a transaction before them is open. No lag and no reading includes them. */
export interface HeldPartition {
  readonly topic: string;
  readonly partition: number;
  readonly messages: bigint;
  /** Offset of the first of them. */
  readonly stableOffset: bigint;
}

/** Transactions usually take milliseconds. One that is open for this long may stay open for minutes. */
const HIDDEN_MS_MAX = 2_000;
const CHECK_INTERVAL_MS = 100;

/**
 * Records written before the call that cannot be read at its end. A later reading gets all others.
 * @param topics missing ones hold nothing back
 * @param lane checks only this lane of each topic
 */
export async function readHeldBack(
  kafka: CliKafka,
  topics: readonly string[],
  lane?: number,
): Promise<HeldPartition[]> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const existing = topics.filter((topic) => listed.has(topic));
    const ends = new Map<string, ReadonlyMap<number, bigint>>();
    for (const topic of existing) ends.set(topic, await writtenOffsets(admin, topic));
    const untilMs = performance.now() + HIDDEN_MS_MAX;
    for (;;) {
      const held: HeldPartition[] = [];
      for (const [topic, written] of ends) {
        for (const [partition, { high: stableOffset }] of await partitionOffsets(admin, topic)) {
          const messages = (written.get(partition) ?? 0n) - stableOffset;
          if (messages > 0n && (lane ?? partition) === partition)
            held.push({ topic, partition, messages, stableOffset });
        }
      }
      if (held.length === 0 || performance.now() > untilMs) return held;
      await delay(CHECK_INTERVAL_MS);
    }
  });
}

/** Sentences about the open transaction that hides the record at a place, if one does. */
export async function hiddenAt(
  kafka: CliKafka,
  { offset, partition, topic }: { readonly topic: string; readonly partition: number; readonly offset: bigint },
): Promise<string[]> {
  const held = await readHeldBack(kafka, [topic]);
  return held.filter((one) => one.partition === partition && one.stableOffset <= offset).map(heldText);
}

export function heldText({ messages, partition, topic }: HeldPartition): string {
  return (
    `${messages} ${messages === 1n ? 'message' : 'messages'} of ${topic}, lane ${partition}, behind an open transaction: ` +
    'none is read before the producer ends the transaction, or Kafka aborts it after transaction.timeout.ms'
  );
}
