/** What lies in Kafka, as the brokers hand it out: a raw consumer is given everything, and its answers are measured. */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';

const STEP_MS = 20;
/** Without a further record. */
const STALLED_MS_MAX = 60_000;

/**
 * Bytes of all records of the topics, batches' heads and markers of transactions included.
 * @throws where the topics cannot be read to their ends
 */
export async function writtenBytes(kafka: Kafka, topics: readonly string[]): Promise<number> {
  const ends = new Map<string, bigint>();
  await withAdmin(kafka, async (admin) => {
    for (const topic of topics)
      for (const { high, low, partition } of await admin.fetchTopicOffsets(topic))
        if (BigInt(high) > BigInt(low)) ends.set(`${topic}/${partition}`, BigInt(high));
  });
  const consumer = kafka.consumer({ groupId: `bytes-${randomUUID()}`, readUncommitted: true, maxWaitTimeInMs: 20 });
  let [bytes, seenMs] = [0, Date.now()];
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    if (payload.apiName === 'Fetch') bytes += payload.size;
  });
  const passed = (topic: string, partition: number, lastOffset: string): void => {
    seenMs = Date.now();
    const place = `${topic}/${partition}`;
    if (BigInt(lastOffset) + 1n >= (ends.get(place) ?? 0n)) ends.delete(place);
  };
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) =>
    passed(payload.topic, payload.partition, payload.lastOffset),
  );
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await consumer.run({ eachBatch: async () => undefined });
    while (ends.size > 0) {
      if (Date.now() - seenMs > STALLED_MS_MAX)
        throw new Error(`not read to their ends: ${[...ends.keys()].join(', ')}`);
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
    return bytes;
  } finally {
    await consumer.disconnect();
  }
}
