/**
 * A connection that waits for nothing keeps no timer; as shipped each wakes the process a thousand times a second. That a request
 * which is not answered still times out: silent-brokers.test.ts.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { connectKafka, createTopic } from './local-kafka.ts';
import { loadPatched, logger, type Constructor } from './patched-module.ts';

interface RequestQueue {
  push(request: object): void;
  maybeThrottle(throttleMs: number): void;
  fulfillRequest(response: { correlationId: number; size: number; payload: Buffer }): void;
  rejectAll(error: Error): void;
}

interface PushedRequest {
  sent: Promise<undefined>;
  answered: Promise<unknown>;
  isSent(): boolean;
}

const RequestQueue = loadPatched('src/network/requestQueue') as Constructor<RequestQueue>;

const REQUEST_TIMEOUT_MS = 40;
/** A timer of the queue may be due a little after what it waits for. */
const TIMER_MS = 20;

/** Prints how many timers wait once both clients have connected. As shipped, each connection runs one per millisecond. */
const IDLE_PROGRAM = `
  import kafkajs from 'kafkajs';
  const kafka = new kafkajs.Kafka({ brokers: process.argv.slice(1), logLevel: kafkajs.logLevel.NOTHING });
  const clients = [kafka.admin(), kafka.producer({ idempotent: true })];
  for (const client of clients) await client.connect();
  console.log(process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length);
  for (const client of clients) await client.disconnect();
`;
const IDLE_PROGRAM_MS_MAX = 20_000;

test('idle connections hold no timer, and Node warns of none', async () => {
  // A process of its own, in which no other code has timers.
  const args = ['--input-type=module', '--eval', IDLE_PROGRAM, ...inject('kafkaBrokers')];
  const ended = promisify(execFile)(process.execPath, args, { timeout: IDLE_PROGRAM_MS_MAX });
  expect(await ended).toEqual({ stdout: '0\n', stderr: '' });
});

test('requests beyond those that may be in flight are sent when earlier ones are answered', async () => {
  const kafka = connectKafka();
  const topic = await createTopic(kafka);
  const producer = kafka.producer({ maxInFlightRequests: 1 });
  await producer.connect();
  const sends = Array.from({ length: 20 }, (_, index) =>
    producer.send({ topic, messages: [{ value: String(index) }] }),
  );
  const offsets = (await Promise.all(sends)).map(([acknowledgement]) => Number(acknowledgement?.baseOffset));
  await producer.disconnect();

  expect(offsets.toSorted((a, b) => a - b)).toEqual(sends.map((_, index) => index));
});

describe('the queue of one connection', () => {
  // A busy machine would let the time of one request run out while another is waited for.
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('a request is sent when the throttling that the broker asked for is over', async () => {
    const queue = createQueue();
    queue.maybeThrottle(20);
    const request = push(queue, 1);
    expect(request.isSent()).toBe(false);

    await vi.advanceTimersByTimeAsync(20 + TIMER_MS);
    await request.sent;
    queue.fulfillRequest({ correlationId: 1, size: 0, payload: Buffer.alloc(0) });
    await expect(request.answered).resolves.toMatchObject({ correlationId: 1 });
  });

  test('a request times out although one sent before it was answered in time', async () => {
    const queue = createQueue();
    const earlier = push(queue, 1);
    await vi.advanceTimersByTimeAsync(REQUEST_TIMEOUT_MS / 2);
    const later = expect(push(queue, 2).answered).rejects.toThrow(/timed out/);
    queue.fulfillRequest({ correlationId: 1, size: 0, payload: Buffer.alloc(0) });

    await earlier.answered;
    await vi.advanceTimersByTimeAsync(REQUEST_TIMEOUT_MS + TIMER_MS);
    await later;
  });

  test('a request with a short timeout does not wait for one with a long one', async () => {
    const queue = createQueue();
    const long = push(queue, 1, 60_000);
    const short = expect(push(queue, 2).answered).rejects.toThrow(/timed out/);

    await vi.advanceTimersByTimeAsync(REQUEST_TIMEOUT_MS + TIMER_MS);
    await short;
    queue.rejectAll(new Error('connection closed'));
    await expect(long.answered).rejects.toThrow('connection closed');
  });
});

function createQueue(): RequestQueue {
  return new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    clientId: 'test',
    broker: 'test',
    logger,
  });
}

function push(queue: RequestQueue, correlationId: number, requestTimeout?: number): PushedRequest {
  const sent = Promise.withResolvers<undefined>();
  const answered = Promise.withResolvers<unknown>();
  let isSent = false;
  queue.push({
    entry: {
      correlationId,
      apiKey: 0,
      apiName: 'Test',
      apiVersion: 0,
      resolve: answered.resolve,
      reject: answered.reject,
    },
    expectResponse: true,
    requestTimeout,
    sendRequest: () => {
      isSent = true;
      sent.resolve(undefined);
    },
  });
  return { sent: sent.promise, answered: answered.promise, isSent: () => isSent };
}
