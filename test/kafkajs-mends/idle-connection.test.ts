/**
 * A connection that waits for nothing keeps no timer. With a producer per lane there are many such connections, and as
 * shipped each of them wakes the process a thousand times a second.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { promisify } from 'node:util';
import kafkajs, { type Admin } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { connectKafka, createTopic } from './local-kafka.ts';

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

// The patched code is internal to the library, so it is loaded from inside of it.
const require = createRequire(import.meta.url);
const RequestQueue = require('kafkajs/src/network/requestQueue') as new (options: object) => RequestQueue;

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

let silentBroker: Server | undefined;

afterEach(() => {
  silentBroker?.close();
  silentBroker = undefined;
});

test('idle connections hold no timer, and Node warns of none', async () => {
  // A process of its own, in which no other code has timers.
  const args = ['--input-type=module', '--eval', IDLE_PROGRAM, ...inject('kafkaBrokers')];
  const ended = promisify(execFile)(process.execPath, args, { timeout: IDLE_PROGRAM_MS_MAX });
  expect(await ended).toEqual({ stdout: '0\n', stderr: '' });
});

test('a request that is not answered still times out', async () => {
  const admin = await connectToSilence();
  await expect(admin.connect()).rejects.toThrow(/timed out/);
  await admin.disconnect();
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

/** A client whose broker accepts connections and never answers. */
async function connectToSilence(): Promise<Admin> {
  silentBroker = createServer((socket) => socket.on('error', () => socket.destroy()));
  silentBroker.listen(0, '127.0.0.1');
  await once(silentBroker, 'listening');
  const { port } = silentBroker.address() as AddressInfo;
  const kafka = new kafkajs.Kafka({
    brokers: [`127.0.0.1:${port}`],
    requestTimeout: REQUEST_TIMEOUT_MS,
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 0 },
  });
  return kafka.admin();
}

function createQueue(): RequestQueue {
  return new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    clientId: 'test',
    broker: 'test',
    logger: { debug: () => undefined },
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
