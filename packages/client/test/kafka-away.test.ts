/** Kafka goes away during the queries before a subscription: the caller's error says so, and does not blame a bug of ours. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest';
import { transferInOf } from '../../../test/support/commands.ts';
import { aTransaction } from '../../../test/ledger/entries.ts';
import { KafkaGate, KAFKA_API, type GateRequest } from '../../../test/support/kafka-gate.ts';
import { PaymentClient } from '../src/payment-client.ts';
import { fingerprintOf } from '../src/publisher.ts';
import { subscribe, type ConnectionOptions } from '../src/subscription.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { kafkaOf, readAll, resultOf, sendTo, settingsOf, useResults } from './fixtures.ts';

const { prefix, write } = useResults('away');
const RETRY = { initialRetryTime: 5, maxRetryTime: 10, retries: 2, factor: 0.2, multiplier: 1.6 };

let gate: KafkaGate;
beforeAll(async () => {
  gate = await KafkaGate.to(inject('kafkaBrokers')[0] ?? '');
});
afterAll(() => gate.close());
afterEach(() => void vi.useRealTimers());

const settings = () => ({ ...settingsOf(prefix), KAFKA_BROKERS: [gate.address] });
const options: ConnectionOptions = { retry: RETRY };

test.each<[string, () => Promise<unknown>]>([
  [
    'a subscription',
    () => subscribe(settings(), { ...options, streams: ['results'], start: { from: 'now' }, onEvent: () => undefined }),
  ],
  ['a client', () => PaymentClient.connect(settings(), options)],
])('%s is refused as one that may be opened again', async (_what, open) => {
  for (const question of [1, 2, 3]) {
    let asked = 0;
    const isIt = ({ apiKey }: GateRequest): boolean => apiKey === KAFKA_API.metadata && (asked += 1) === question;
    const gone = gate.until('away', isIt);
    const told = await open().catch((error: unknown) => error);
    await gone;
    await gate.open();
    expect(told).toMatchObject({ code: 'KAFKA_UNAVAILABLE', retryable: true });
  }
});

test('a reading to the end fails if Kafka goes away meanwhile and stays away, and goes on if it comes back', async () => {
  await sendTo(kafkaOf(prefix), topicNames(prefix).results, [{ key: 'k', value: 'v' }]);
  const read = async (): Promise<{ ended: Promise<unknown>; events: string[] }> => {
    const gone = gate.until('away', ({ apiKey }) => apiKey === KAFKA_API.fetch);
    const events: string[] = [];
    const { ended } = await subscribe(settings(), {
      ...{ ...options, streams: ['results'], start: { from: 'beginning' }, untilEnd: true },
      onEvent: ({ key }) => void events.push(key),
    });
    await gone;
    // Some retries.
    await delay(1_500);
    return { ended: ended.then(() => 'all was read').catch((error: unknown) => error), events };
  };
  const short = await read();
  await gate.open();
  expect(await short.ended).toBe('all was read');
  expect(short.events).toEqual(['k']);

  vi.useFakeTimers({ toFake: ['performance'] });
  const long = await read();
  vi.advanceTimersByTime(30_000);
  const told = await Promise.race([long.ended, delay(10_000, 'nothing is told')]);
  await gate.open();
  expect(told).toMatchObject({ code: 'KAFKA_UNAVAILABLE', retryable: true });
});

test('what comes first after an outage is not the last word: a request and a followed payment wait for what follows it', async () => {
  const client = await PaymentClient.connect(settings(), options);
  const [followed, requested] = ['followed', 'requested'];
  const fields = transferInOf(requested);
  await write(resultOf(followed, { outcome: 'UNKNOWN' }));
  await write(resultOf('ended', { outcome: 'EXPIRED' }));
  const settled = client.awaitSettled(followed, { timeoutMs: 60_000 });
  // The outage must not end its reading of earlier results: only the two connections for new ones may be left.
  await client.awaitSettled('ended', { timeoutMs: 60_000 });
  await expect.poll(() => gate.connections().length).toBe(2);
  const answered = client.request('transfer-in', requested, fields, { timeoutMs: 60_000 });
  const commands = topicNames(prefix).commands['transfer-in'];
  while ((await readAll(prefix, commands)).length === 0) await delay(50);
  await gate.vanish();
  const headers = { 'command-fingerprint': fingerprintOf('transfer-in', requested, fields) };
  const transaction = aTransaction({ status: 'COMPLETED' });
  for (const key of [followed, requested])
    for (const [revision, outcome] of [
      [2, 'EXPIRED'],
      [3, 'ACCEPTED'],
    ] as const)
      await write(
        resultOf(key, { outcome, revision, transaction: outcome === 'ACCEPTED' ? transaction : null }),
        headers,
      );
  await gate.open();
  const ofThird = { value: { outcome: 'ACCEPTED', revision: 3 } };
  expect(await answered).toMatchObject({ kind: 'result', result: ofThird });
  expect(await settled).toMatchObject({ kind: 'settled', status: 'COMPLETED', result: { revision: 3 } });
  await client.close();
});

test('a subscription says so while Kafka is away: silence would look like no events', async () => {
  const outage = Promise.withResolvers<string>();
  const gone = gate.until('away', ({ apiKey }) => apiKey === KAFKA_API.fetch);
  const subscription = await subscribe(settings(), {
    ...{ ...options, streams: ['results'], start: { from: 'now' }, onEvent: () => undefined },
    onNotice: (notice) => {
      if (notice.kind === 'kafka-outage') outage.resolve(notice.problem);
    },
  });
  await gone;
  expect(await outage.promise).not.toBe('');
  await gate.open();
  await subscription.close();
});
