/**
 * Reads single records at known places: the first committed one at or after an offset, in several partitions at once.
 *
 * The consumer belongs to one call; its group is its own and commits nothing. It starts at the offsets themselves, so that it
 * fetches little, and ends once every place is found or the time is up.
 */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import { kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { registerCompressionCodecs } from 'payment-processor-contract/kafka/compression-codecs';

export interface ReadingPlace {
  topic: string;
  partition: number;
  offset: bigint;
  /** Offset after the last committed record: the reader waits for nothing beyond it. */
  endOffset: bigint;
}

/** A record as raw bytes. */
export interface RawRecord {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  /** Each header with all of its values. */
  headers: Readonly<Record<string, readonly Buffer[]>>;
}

/** Time to join a group and fetch once. A slower broker has a problem that other checks report. */
const READ_TIMEOUT_MS = 15_000;
const FETCH_WAIT_MS = 250;
const CLOSE_TIMEOUT_MS = 5_000;

/**
 * @returns the records found, by `placeName`; none for a place with no later committed record
 * @throws the client's error if no broker answers, an Error when the time is up
 */
export async function firstRecordsFrom(
  kafka: Kafka,
  groupPrefix: string,
  places: readonly ReadingPlace[],
): Promise<Map<string, RawRecord>> {
  const found = new Map<string, RawRecord>();
  const open = new Map(
    places.filter((place) => place.offset < place.endOffset).map((place) => [placeName(place), place]),
  );
  if (open.size === 0) return found;
  registerCompressionCodecs();
  const consumer = kafka.consumer({
    groupId: `${groupPrefix}-${randomUUID()}`,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    readUncommitted: false,
    allowAutoTopicCreation: false,
  });
  const ended = Promise.withResolvers<undefined>();
  const answered = (place: { topic: string; partition: number }): void => {
    open.delete(placeName(place));
    if (open.size === 0) ended.resolve(undefined);
  };
  consumer.on(consumer.events.GROUP_JOIN, () => {
    for (const { topic, partition, offset } of open.values()) {
      consumer.seek({ topic, partition, offset: offset.toString() });
    }
  });
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    // Batches of control or aborted records alone never reach the handler.
    const place = open.get(placeName(payload));
    if (payload.batchSize === 0 && place !== undefined && BigInt(payload.lastOffset) + 1n >= place.endOffset) {
      answered(place);
    }
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart || kafkaRefusal(payload.error) !== null) ended.reject(payload.error);
  });
  const timer = setTimeout(
    () => ended.reject(new Error(`no records could be read within ${READ_TIMEOUT_MS} ms: try again`)),
    READ_TIMEOUT_MS,
  );
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [...new Set(places.map(({ topic }) => topic))], fromBeginning: false });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        const place = open.get(placeName(batch));
        const message = batch.messages.find(({ offset }) => place !== undefined && BigInt(offset) >= place.offset);
        if (place === undefined || message === undefined) return;
        found.set(placeName(place), rawRecordOf(place.topic, place.partition, message));
        answered(place);
      },
    });
    await ended.promise;
    return found;
  } finally {
    clearTimeout(timer);
    await disconnectWithin(consumer, CLOSE_TIMEOUT_MS);
  }
}

export function placeName({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`;
}

/** A message as raw bytes, with its place. */
export function rawRecordOf(
  topic: string,
  partition: number,
  message: { offset: string; timestamp: string; key: Buffer | null; value: Buffer | null; headers?: object },
): RawRecord {
  const { headers = {}, key, offset, timestamp, value } = message;
  const place = { topic, partition, offset: BigInt(offset), timestampMs: Number(timestamp) };
  return { ...place, key, value, headers: headersOf(headers) };
}

/** A header without a value becomes an empty one. A header named like a built-in object member contradicts kafkajs' types. */
function headersOf(given: object): Record<string, Buffer[]> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]: [string, unknown]) => {
      const values: unknown[] = Array.isArray(value) ? value : [value];
      return [name, values.flatMap(bytesOf)];
    }),
  );
}

function bytesOf(value: unknown): Buffer[] {
  if (Buffer.isBuffer(value)) return [value];
  if (value === null) return [Buffer.alloc(0)];
  return typeof value === 'string' ? [Buffer.from(value)] : [];
}
