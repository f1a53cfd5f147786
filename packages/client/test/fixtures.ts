/** Topics of their own for a test file, and a stand-in of the processor that answers commands as a test says. */
import { randomUUID } from 'node:crypto';
import type { Kafka, Message } from 'kafkajs';
import { afterAll, beforeAll, inject } from 'vitest';
import { readSomeSettings } from 'payment-processor-contract/config';
import { openTopicReader, type TopicReader, type TopicRecord } from '../src/kafka/topic-reader.ts';
import { fingerprintOf } from '../src/publisher.ts';
import { CLIENT_SETTING_NAMES, createRegistry, type ClientSettings } from '../src/settings.ts';
import { registerSubjects } from 'payment-processor-cli/schema-subjects';
import { createKafka, LANE_RETRY, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { createTopics } from 'payment-processor-cli/kafka/topic-creation';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandResult } from 'payment-processor-contract/types';
import { resultOf } from './result-of.ts';

export { resultOf } from './result-of.ts';

export type TestKafka = ReturnType<typeof createKafka>;
type Producer = ReturnType<TestKafka['producer']>;

export const LANES = 3;

/** A prefix that no other test file uses. */
export function freshPrefix(name: string): string {
  return `test-${name}-${randomUUID().slice(0, 8)}`;
}

export function environmentOf(prefix: string): Record<string, string> {
  return {
    KAFKA_BROKERS: inject('kafkaBrokers').join(','),
    SCHEMA_REGISTRY_URL: inject('schemaRegistryUrl'),
    TOPIC_PREFIX: prefix,
    LANES: String(LANES),
  };
}

export function settingsOf(prefix: string): ClientSettings {
  const read = readSomeSettings(environmentOf(prefix), CLIENT_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  return read.config;
}

export function kafkaOf(prefix: string): TestKafka {
  return createKafka(settingsOf(prefix), `${prefix}-test`, { retry: PATIENT_RETRY });
}

/** Makes the topics of the prefix and registers the schemas. */
export async function prepare(prefix: string): Promise<void> {
  const read = readSomeSettings(environmentOf(prefix), [
    'TOPIC_PREFIX',
    'LANES',
    'LEDGER_RETENTION',
    'COMMAND_MAX_AGE',
  ]);
  if (!read.ok) throw new Error(read.problems.join('; '));
  await createTopics(kafkaOf(prefix), read.config, { replicationFactor: 1, dryRun: false });
  await registerSubjects(settingsOf(prefix));
}

/** Every record that a topic holds. */
export async function readAll(prefix: string, topic: string): Promise<TopicRecord[]> {
  const records: TopicRecord[] = [];
  const reader = await openTopicReader(kafkaOf(prefix), {
    topics: [topic],
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: prefix,
    onRecord: (record) => void records.push(record),
  });
  await reader.ended;
  await reader.close();
  return records;
}

/** @returns the offset of the first */
export async function sendTo(kafka: Kafka, topic: string, messages: Message[]): Promise<bigint> {
  const producer = kafka.producer();
  await producer.connect();
  const [first] = await producer.send({ topic, messages });
  await producer.disconnect();
  return BigInt(first?.baseOffset ?? -1);
}

/** Topics of a file's own, and results in them. */
export function useResults(name: string): { prefix: string; write: ResultWriter['write'] } {
  const prefix = freshPrefix(name);
  let writer: ResultWriter;
  beforeAll(async () => {
    await prepare(prefix);
    writer = await ResultWriter.open(prefix);
  });
  afterAll(() => writer.close());
  return { prefix, write: (...words) => writer.write(...words) };
}

/** Somebody's transaction, which hides what follows it in the partition. @returns a function that ends it */
export async function openTransaction(kafka: Kafka, topic: string, partition: number): Promise<() => Promise<void>> {
  const producer = kafka.producer({ transactionalId: `${topic}-${randomUUID()}` });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ key: 'hiding', value: '{}', partition }] });
  return async () => {
    await transaction.abort();
    await producer.disconnect();
  };
}

/** Publishes results in transactions, as the processor does. */
export class ResultWriter {
  readonly #producer: Producer;
  readonly #topic: string;
  readonly #registry;

  private constructor(prefix: string, producer: Producer) {
    this.#producer = producer;
    this.#topic = topicNames(prefix).results;
    this.#registry = createRegistry(settingsOf(prefix));
  }

  static async open(prefix: string): Promise<ResultWriter> {
    const kafka = createKafka(settingsOf(prefix), `${prefix}-writer`, { retry: LANE_RETRY });
    const producer = kafka.producer({
      transactionalId: `${prefix}-${randomUUID()}`,
      idempotent: true,
      maxInFlightRequests: 1,
    });
    await producer.connect();
    return new ResultWriter(prefix, producer);
  }

  async write(
    result: CommandResult,
    headers: Record<string, string> = {},
    end: 'commit' | 'abort' = 'commit',
  ): Promise<void> {
    const finish = await this.begin(result, headers);
    await finish(end);
  }

  /** Writes in a transaction that stays open until it is ended. */
  async begin(
    result: CommandResult,
    headers: Record<string, string> = {},
  ): Promise<(end: 'commit' | 'abort') => Promise<void>> {
    await this.#registry.ready(this.#topic);
    const value = this.#registry.encode(this.#topic, result);
    const transaction = await this.#producer.transaction();
    const ids = { ce_id: randomUUID(), ce_time: new Date(Number(result.completedAt)).toISOString(), ...headers };
    await transaction.send({ topic: this.#topic, messages: [{ key: result.commandKey, value, headers: ids }] });
    return (end) => (end === 'commit' ? transaction.commit() : transaction.abort());
  }

  async close(): Promise<void> {
    await this.#producer.disconnect();
  }
}

/** Answers every transfer-in of these fields from now on; the outcome is the part of the key before its first dash, in capitals. */
export async function startAnswering(prefix: string, fields: unknown): Promise<{ close(): Promise<void> }> {
  const writer = await ResultWriter.open(prefix);
  const reader: TopicReader = await openTopicReader(kafkaOf(prefix), {
    topics: [topicNames(prefix).commands['transfer-in']],
    start: { from: 'now' },
    untilEnd: false,
    groupPrefix: prefix,
    onRecord: async (record) => {
      const key = record.key?.toString() ?? '';
      const outcome = key.split('-')[0]?.toUpperCase() ?? '';
      if (outcome === 'SILENT') return;
      const commandId = record.headers['ce_id'] ?? null;
      const error =
        outcome === 'ACCEPTED' ? null : { code: 'INSUFFICIENT_BALANCE', message: 'too little', details: null };
      // Another message of the same key, whose result is none of ours.
      await writer.write(resultOf(key, { outcome: 'CONFLICT', revision: 0, commandId: 'another' }), {
        'in-reply-to': 'another',
      });
      await writer.write(resultOf(key, { outcome, commandId, error }), {
        ...(commandId === null ? {} : { 'in-reply-to': commandId }),
        'command-fingerprint': fingerprintOf('transfer-in', key, fields),
      });
    },
  });
  return {
    close: async () => {
      await reader.close();
      await writer.close();
    },
  };
}
