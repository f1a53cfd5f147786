/** A Kafka that goes away amid the questions before a subscription: whoever opens it is told so, and not of a mistake of ours. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { KafkaGate, KAFKA_API, type GateRequest } from '../../../test/support/kafka-gate.ts';
import { PaymentClient } from '../src/payment-client.ts';
import { subscribe, type ConnectionOptions } from '../src/subscription.ts';
import { freshPrefix, prepare, settingsOf } from './fixtures.ts';

const prefix = freshPrefix('away');
const RETRY = { initialRetryTime: 5, maxRetryTime: 10, retries: 2, factor: 0.2, multiplier: 1.6 };

beforeAll(() => prepare(prefix));

let gate: KafkaGate;
beforeAll(async () => {
  gate = await KafkaGate.to(inject('kafkaBrokers')[0] ?? '');
});
afterAll(() => gate.close());

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
