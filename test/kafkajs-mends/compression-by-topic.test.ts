/** What goes out in one transaction is compressed topic by topic: our own readers know zstd, others may not. */
import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { readSomeSettings } from 'payment-processor-contract/config';
import { registerCompressionCodecs } from 'payment-processor-contract/kafka/compression-codecs';
import { TransactionalProducer, type OutgoingRecord } from '../../src/producers/transactional-producer.ts';
import { connectKafka, createTopic, readCommitted } from './local-kafka.ts';

const last = Buffer.from('the last');

function recordsFor(topic: string, count: number): OutgoingRecord[] {
  const values = [...Array.from({ length: count }, () => Buffer.alloc(1_000, 'x')), last];
  return values.map((value) => ({ topic, partition: 0, key: 'key', value, headers: { name: 'value' } }));
}

test('large batches of the topics that are named, and no others', async () => {
  registerCompressionCodecs();
  const codec = kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]() as { decompress(): Promise<Buffer> };
  const expanded = vi.spyOn(codec, 'decompress');
  onTestFinished(() => expanded.mockRestore());
  const kafka = connectKafka();
  const [own, small, others] = [await createTopic(kafka), await createTopic(kafka), await createTopic(kafka)];
  const environment = { KAFKA_BROKERS: inject('kafkaBrokers').join(), SCHEMA_REGISTRY_URL: 'http://unused' };
  const read = readSomeSettings(environment, CLIENT_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const id = `mends-${randomUUID()}`;
  const compressedTopics = new Set([own, small]);
  const producer = new TransactionalProducer(read.config, {
    transactionalId: id,
    clientId: id,
    compressedTopics,
    log: () => undefined,
  });
  await producer.open();
  await producer.commit([...recordsFor(own, 20), ...recordsFor(small, 1), ...recordsFor(others, 20)]);
  await producer.close();
  const isCompressed: boolean[] = [];
  for (const topic of [own, small, others]) {
    expanded.mockClear();
    expect(await readCommitted(kafka, topic, last)).toHaveLength(topic === small ? 2 : 21);
    isCompressed.push(expanded.mock.calls.length > 0);
  }
  expect(isCompressed).toEqual([true, false, false]);
});
