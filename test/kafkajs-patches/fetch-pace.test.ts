/** How long a fetch may wait, and how soon the next one may follow, can be set anew for each fetch. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumerConfig, ConsumerRunConfig } from 'kafkajs';
import { expect, onTestFinished, test } from 'vitest';
import { connectKafka, createTopic } from './local-kafka.ts';

const kafka = connectKafka();

/** A consumer that has joined: the fetches and values so far. */
async function consuming(
  config: Pick<ConsumerConfig, 'maxWaitTimeInMs'>,
  run: Pick<ConsumerRunConfig, 'fetchIntervalMs'> = {},
): Promise<{ topic: string; seen: { fetches: number; values: string[] } }> {
  const topic = await createTopic(kafka);
  const seen = { fetches: 0, values: [] as string[] };
  const consumer = kafka.consumer({ groupId: `patches-${randomUUID()}`, ...config });
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    if (payload.apiName === 'Fetch') seen.fetches += 1;
  });
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.connect();
  onTestFinished(() => consumer.disconnect());
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({ ...run, eachMessage: async ({ message }) => void seen.values.push(String(message.value)) });
  await joined;
  return { topic, seen };
}

test('a consumer asks before each fetch how long it may wait', async () => {
  const watchedMs = 1_000;
  let waitMs = 20;
  const { seen } = await consuming({ maxWaitTimeInMs: () => waitMs });
  await sleep(watchedMs);
  expect(seen.fetches).toBeGreaterThan(3);
  waitMs = 2 * watchedMs;
  await sleep(watchedMs);
  seen.fetches = 0;
  await sleep(watchedMs);
  // The fetch that waits a second and longer has no answer yet; at most the previous one is counted.
  expect(seen.fetches).toBeLessThanOrEqual(1);
});

test('a consumer asks after each fetch when the next one may be, and misses nothing', async () => {
  const [messages, everyMs, heldMs] = [60, 10, 500];
  let intervalMs = 0;
  const { seen, topic } = await consuming({ maxWaitTimeInMs: 1_000 }, { fetchIntervalMs: () => intervalMs });
  const producer = kafka.producer();
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  /** How many fetches took the messages in, and how many intervals that lasted. */
  const fetchAll = async (): Promise<{ fetches: number; intervals: number }> => {
    Object.assign(seen, { fetches: 0, values: [] });
    const startedMs = performance.now();
    for (let number = 0; number < messages; number += 1) {
      await producer.send({ topic, messages: [{ value: String(number) }] });
      await sleep(everyMs);
    }
    await expect.poll(() => seen.values.length).toBe(messages);
    return { fetches: seen.fetches, intervals: (performance.now() - startedMs) / heldMs };
  };
  const free = await fetchAll();
  expect(free.fetches).toBeGreaterThan(2 * free.intervals);
  intervalMs = heldMs;
  const held = await fetchAll();
  // However late a timer or a request is, only the one under way and those at the two ends come on top.
  expect(held.fetches).toBeLessThanOrEqual(held.intervals + 3);
});
