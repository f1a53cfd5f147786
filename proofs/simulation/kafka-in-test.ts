/** Tools for tests of both Kafkas: the processor's own producers and readers, and an administrator. */
import { randomUUID } from 'node:crypto';
import type { Admin } from 'kafkajs';
import { test } from 'vitest';
import { GroupMember, type FetchedBatch, type MemberHandlers } from '../../src/consumers/group-member.ts';
import { clientIdOf } from '../../src/consumers/group-processes.ts';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import { systemClock } from 'payment-processor-contract/clock';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import {
  createKafka,
  LANE_RETRY,
  PATIENT_RETRY,
  type KafkaSettings,
} from 'payment-processor-contract/kafka/kafka-client';
import { encodeBatches, type OutgoingRecord } from '../../src/producers/record-batch.ts';
import { createCluster } from '../../src/producers/kafka-cluster.ts';
import { ProducerSession, type Written } from '../../src/producers/producer-session.ts';
import { TRANSACTION_TIMEOUT_MS, TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { eventually } from '../../test/support/watch.ts';

export interface KafkaInTest {
  readonly settings: KafkaSettings;
  /** @param configuration by Kafka's names */
  makeTopic(topic: string, partitions: number, configuration?: Readonly<Record<string, string>>): Promise<void>;
  /** Real brokers compact by themselves, after a while. */
  compact(topic: string): void;
  /** Runs a test's body, and lets time pass meanwhile. */
  run(body: () => Promise<void>): Promise<void>;
}

export const SESSION_TIMEOUT_MS = 6_000;
const HEARTBEAT_INTERVAL_MS = 300;
/** Real brokers look for something to compact every 15 seconds. */
const AWAIT_MS = 50_000;
export const SETTLE_MS = 700;

export interface Names {
  readonly topic: string;
  readonly groupId: string;
  readonly id: string;
}

export interface KafkaTools {
  producerOf: (id: string) => TransactionalProducer;
  record: (topic: string, value: string, partition?: number) => OutgoingRecord;
  /** Commits the records in one transaction. The producer expects only the first record's partition. */
  commit: (producer: TransactionalProducer, ...records: readonly OutgoingRecord[]) => Promise<Written>;
  /** Each in a transaction of its own. */
  published: (topic: string, id: string, values: readonly string[]) => Promise<void>;
  openTransaction: (id: string, topic: string, value: string) => Promise<{ commit: () => Promise<void> }>;
  valuesOf: (topic: string) => Promise<string[]>;
  memberOf: (topic: string, groupId: string, laneCount: number, handlers: Partial<MemberHandlers>) => GroupMember;
  administer: <Value>(topic: string, work: (admin: Admin) => Promise<Value>) => Promise<Value>;
  kafkaTest: (name: string, body: (given: Names) => Promise<void>) => void;
}

export const silent = (): void => undefined;

export function kafkaTools(kafka: () => KafkaInTest): KafkaTools {
  const made = (): Names => {
    const name = `conformance-${randomUUID()}`;
    return { topic: name, groupId: `${name}-group`, id: `${name}-lane` };
  };
  const producerOf = (id: string): TransactionalProducer =>
    new TransactionalProducer(createKafka(kafka().settings, id, { retry: LANE_RETRY }), {
      transactionalId: id,
      compressedTopics: new Set(),
    });
  const commit: KafkaTools['commit'] = (producer, ...records) =>
    producer.commit(records.slice(0, 1), async () => encodeBatches(records));
  const record = (topic: string, value: string, partition = 0): OutgoingRecord => ({
    topic,
    partition,
    key: value,
    value: Buffer.from(value),
    headers: { name: value },
  });
  const published: KafkaTools['published'] = async (topic, id, values) => {
    const producer = producerOf(id);
    await producer.open();
    for (const value of values) await commit(producer, record(topic, value));
    await producer.close();
  };
  /** Opens a transaction and writes one record; the caller ends it. */
  const openTransaction: KafkaTools['openTransaction'] = async (id, topic, value) => {
    const cluster = createCluster(createKafka(kafka().settings, id, { retry: LANE_RETRY }));
    const session = new ProducerSession(cluster, {
      transactionalId: id,
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
      compressedTopics: new Set(),
    });
    await session.connect();
    await session.initialise();
    const batches = encodeBatches([record(topic, value)]);
    await session.register(batches);
    await session.write(batches);
    return { commit: () => session.end(true).finally(() => session.close()) };
  };
  const valuesOf = async (topic: string): Promise<string[]> => {
    const values: string[] = [];
    const reader = await openTopicReader(createKafka(kafka().settings, topic, { retry: PATIENT_RETRY }), {
      topics: [topic],
      start: { from: 'beginning' },
      untilEnd: true,
      groupPrefix: topic,
      onRecord: ({ headers, value }) => void values.push(headers['name'] ?? value?.toString() ?? ''),
    });
    await reader.ended;
    await reader.close();
    return values;
  };
  const memberOf: KafkaTools['memberOf'] = (topic, groupId, laneCount, handlers) =>
    new GroupMember({
      address: () => null,
      standing: { announce: () => false, shouldRejoin: () => false },
      settings: kafka().settings,
      groupId,
      clientId: clientIdOf(groupId, `${randomUUID()}@a-host`),
      topics: [topic],
      laneCount,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS,
      clock: systemClock,
      log: silent,
      handlers: {
        assigned: silent,
        batch: () => 'not-now',
        filtered: silent,
        restarted: silent,
        crashed: silent,
        ...handlers,
      },
    });
  const kafkaTest = (name: string, body: (given: Names) => Promise<void>): void =>
    test(name, () => kafka().run(() => body(made())));
  const administer: KafkaTools['administer'] = (topic, work) =>
    withAdmin(createKafka(kafka().settings, topic, { retry: PATIENT_RETRY }), work);
  return { commit, producerOf, published, record, openTransaction, valuesOf, memberOf, administer, kafkaTest };
}

export function taken(batches: readonly FetchedBatch[]): string[] {
  return batches.flatMap(({ messages }) => messages.map(({ value }) => value?.toString() ?? ''));
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => condition(), Boolean, 'what the brokers must do', AWAIT_MS);
}
