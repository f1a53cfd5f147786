import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PaymentCommandPublisher } from '../src/publisher.ts';
import { createRegistry } from '../src/settings.ts';
import { laneOf } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { freshPrefix, LANES, prepare, readAll, settingsOf } from './fixtures.ts';

const prefix = freshPrefix('publisher');
const topics = topicNames(prefix);
const transferIn = { source: { accountId: 'ExternalAccount:1' }, destination: { accountId: 'InternalAccount:1' } };

describe('a command publisher', () => {
  let publisher: PaymentCommandPublisher;

  beforeAll(async () => {
    await prepare(prefix);
    publisher = await PaymentCommandPublisher.connect(settingsOf(prefix));
  });
  afterAll(async () => publisher.close());

  test('writes Avro with every digit, CloudEvents headers and what is to be carried on', async () => {
    const published = await publisher.publish(
      'transfer-in',
      'order-1',
      { ...transferIn, amount: 9_007_199_254_740_993n },
      {
        expiresAt: new Date('2030-01-01T00:00:00Z'),
        correlationId: 'case-7',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        source: '/shop',
      },
    );
    const records = await readAll(prefix, topics.commands['transfer-in']);
    const record = records.find(({ key }) => key?.toString() === 'order-1');
    expect(record).toMatchObject({ partition: laneOf('order-1', LANES), offset: published.offset });
    expect(record?.headers).toMatchObject({
      ce_specversion: '1.0',
      ce_id: published.commandId,
      ce_type: 'payments.v1.TransferIn',
      ce_source: '/shop',
      ce_subject: 'order-1',
      'content-type': 'application/avro',
      'expires-at': '2030-01-01T00:00:00.000Z',
      'correlation-id': 'case-7',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    });
    const registry = createRegistry(settingsOf(prefix));
    const decoded = await registry.decode(topics.commands['transfer-in'], record!.value!);
    expect(decoded).toMatchObject({ kind: 'record', value: { ...transferIn, amount: 9_007_199_254_740_993n } });
  });

  test('of many at once takes no more together than the topic does, headers counted', async () => {
    const keys = Array.from({ length: 3_000 }, (_, index) => `burst-${index}`).filter(
      (key) => laneOf(key, LANES) === 0,
    );
    const carried = { correlationId: 'c'.repeat(1_000), tracestate: `a=${'t'.repeat(1_000)}` };
    const sent = keys.map((key) => publisher.publish('transfer-in', key, { ...transferIn, amount: 1 }, carried));
    const refused = (await Promise.allSettled(sent)).filter(({ status }) => status === 'rejected');
    expect(refused).toEqual([]);
  });

  test('publishes many at once, each one time and on its own lane', async () => {
    const keys = Array.from({ length: 2_000 }, (_, index) => `many-${index}`);
    const published = await Promise.all(
      keys.map((key) => publisher.publish('execute-quote', key, { quoteId: 'Quote:1' }, { contentType: 'json' })),
    );
    const records = await readAll(prefix, topics.commands['execute-quote']);
    expect(records.map(({ key }) => key?.toString()).sort()).toEqual([...keys].sort());
    const places = new Map(records.map(({ key, partition, offset }) => [key?.toString(), { partition, offset }]));
    for (const { key, partition, offset } of published) {
      expect(places.get(key)).toEqual({ partition, offset });
      expect(partition).toBe(laneOf(key, LANES));
    }
  });
});
