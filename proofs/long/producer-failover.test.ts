/** Three brokers, of which one after the other dies or freezes in the middle of transactions: each is committed once, or fails. */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEngine, type Engine } from 'payment-processor-local-kafka/start';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import {
  createKafka,
  LANE_RETRY,
  PATIENT_RETRY,
  type KafkaSettings,
} from 'payment-processor-contract/kafka/kafka-client';
import { encodeBatches } from '../../src/producers/record-batch.ts';
import { TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { plainKafkaSettings } from '../../test/support/kafka-settings.ts';

const BROKERS = 3;
const PARTITIONS = 6;
const TRANSACTIONS = 60;
/** In the middle of the transactions. */
const OUTAGE_AT = 20;
const START_MS_MAX = 180_000;
const ORDER = 'in the order of its partition';

let engine: Engine;
let settings: KafkaSettings;
let kafka: Kafka;

beforeAll(async () => {
  engine = await startEngine({ brokers: BROKERS });
  settings = plainKafkaSettings(engine.brokers);
  kafka = createKafka(settings, 'test', { retry: PATIENT_RETRY });
}, START_MS_MAX);

afterAll(async () => engine.stop());

async function makeTopic(): Promise<string> {
  const topic = `failover-${randomUUID()}`;
  const topics = [{ topic, numPartitions: PARTITIONS, replicationFactor: BROKERS }];
  await withAdmin(kafka, (admin) => admin.createTopics({ waitForLeaders: true, topics }));
  return topic;
}

/** Values of each partition that readers of committed records are given. */
async function committed(topic: string): Promise<Map<number, string[]>> {
  const read = new Map<number, string[]>();
  const reader = await openTopicReader(kafka, {
    topics: [topic],
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: topic,
    onRecord: ({ partition, value }) =>
      void read.set(partition, [...(read.get(partition) ?? []), value?.toString() ?? '']),
  });
  await reader.ended;
  await reader.close();
  return read;
}

/**
 * Writes to all partitions, transaction by transaction; one that fails is given up with its producer, as lanes do.
 * @returns the transactions that were committed for certain
 */
async function written(topic: string, disturb: () => Promise<void>): Promise<Set<string>> {
  const certain = new Set<string>();
  let producer: TransactionalProducer | null = null;
  let disturbing: Promise<void> | null = null;
  for (let count = 0; count < TRANSACTIONS; count += 1) {
    if (count === OUTAGE_AT) disturbing = disturb();
    const name = `${count}`.padStart(3, '0');
    const records = Array.from({ length: PARTITIONS }, (_, partition) => ({
      topic,
      partition,
      key: name,
      value: Buffer.from(name),
      headers: {},
    }));
    try {
      if (producer === null) {
        const client = createKafka(settings, topic, { retry: LANE_RETRY });
        producer = new TransactionalProducer(client, {
          transactionalId: `${topic}-${name}`,
          compressedTopics: new Set(),
        });
        await producer.open();
      }
      await producer.commit(records, async () => encodeBatches(records));
      certain.add(name);
    } catch {
      await producer?.close();
      producer = null;
    }
  }
  await producer?.close();
  await disturbing;
  return certain;
}

test.each([
  [
    'dies, and comes back',
    (index: number) =>
      engine
        .broker(index)
        .kill()
        .then(() => engine.broker(index).start()),
  ],
  [
    'ends in order, and comes back',
    (index: number) =>
      engine
        .broker(index)
        .stop()
        .then(() => engine.broker(index).start()),
  ],
  [
    'freezes for longer than its brokers wait',
    async (index: number) => {
      engine.broker(index).pause();
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      engine.broker(index).resume();
    },
  ],
])(
  `each broker in turn %s: what was committed is there once, ${ORDER}, in all partitions or in none`,
  async (_, disturb) => {
    for (let index = 0; index < BROKERS; index += 1) {
      const topic = await makeTopic();
      const certain = await written(topic, () => disturb(index));
      await expect
        .poll(async () => [...(await committed(topic)).values()].every((values) => values.length >= certain.size), {
          timeout: 60_000,
        })
        .toBe(true);
      const [first, ...others] = [...(await committed(topic)).values()];
      expect(others).toHaveLength(PARTITIONS - 1);
      for (const other of others) expect(other).toEqual(first);
      expect(first).toEqual([...new Set(first)].toSorted());
      expect([...certain].filter((name) => first?.includes(name) !== true)).toEqual([]);
      // Of the transactions under way at most a few fail.
      expect(certain.size).toBeGreaterThan(TRANSACTIONS - 10);
    }
  },
  600_000,
);
