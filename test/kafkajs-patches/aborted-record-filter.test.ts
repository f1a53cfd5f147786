/** Records of aborted transactions must not reach a read_committed consumer: an aborted payment would be executed. */
import { randomUUID } from 'node:crypto';
import type { Kafka, Message, Producer, Transaction } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectKafka, createTopic, readCommitted } from './local-kafka.ts';

const LAST = Buffer.from('committed last');

let kafka: Kafka;
let topic: string;
let producers: Producer[];

beforeEach(async () => {
  kafka = connectKafka();
  topic = await createTopic(kafka);
  producers = [];
});

afterEach(async () => {
  for (const producer of producers) await producer.disconnect();
});

describe('two aborted transactions and a committed one, interleaved on one partition', () => {
  beforeEach(async () => {
    const first = await begin();
    const second = await begin();
    const committed = await begin();
    await send(first, { value: 'aborted first, offset 0' });
    await send(second, { value: 'aborted second, offset 1' });
    await send(committed, { value: 'committed, offset 2' });
    await send(second, { value: 'aborted second, offset 3' });
    await send(first, { value: 'aborted first, offset 4' });
    // The one that began later ends earlier, so the broker lists it first.
    await second.abort();
    await send(first, { value: 'aborted first, offset 6' });
    await send(committed, { value: 'committed, offset 7' });
    await first.abort();
    await send(committed, { value: LAST });
    await committed.commit();
  });

  test('read from the beginning: only the committed records arrive', async () => {
    expect(await valuesFrom('0')).toEqual(['committed, offset 2', 'committed, offset 7', 'committed last']);
  });

  // The first record read belongs to the one that ends first, or to the other.
  test.each(['3', '4'])(
    'read from offset %s, after both have begun: only the committed records arrive',
    async (offset) => {
      expect(await valuesFrom(offset)).toEqual(['committed, offset 7', 'committed last']);
    },
  );
});

test('an aborted record whose key has the bytes of an abort marker does not end the aborted transaction', async () => {
  const aborted = await begin();
  await send(aborted, { key: Buffer.alloc(4), value: 'aborted, key of four zero bytes' });
  await send(aborted, { value: 'aborted, after it' });
  await aborted.abort();
  const committed = await begin();
  await send(committed, { key: Buffer.alloc(4), value: 'committed, key of four zero bytes' });
  await send(committed, { value: LAST });
  await committed.commit();

  expect(await valuesFrom('0')).toEqual(['committed, key of four zero bytes', 'committed last']);
});

async function begin(): Promise<Transaction> {
  const producer = kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1, idempotent: true });
  producers.push(producer);
  await producer.connect();
  return producer.transaction();
}

async function send(transaction: Transaction, message: Message): Promise<void> {
  await transaction.send({ topic, messages: [message] });
}

async function valuesFrom(offset: string): Promise<(string | undefined)[]> {
  const messages = await readCommitted(kafka, topic, LAST, offset);
  return messages.map(({ value }) => value?.toString());
}
