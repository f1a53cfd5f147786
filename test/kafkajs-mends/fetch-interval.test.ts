/** However often messages come, a consumer fetches no more often than its interval allows. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { connectKafka, createTopic } from './local-kafka.ts';

const MESSAGES = 60;
const EVERY_MS = 10;
const INTERVAL_MS = 500;

test('a consumer asks after each fetch when the next one may be, and misses nothing', async () => {
  const kafka = connectKafka();
  const topic = await createTopic(kafka);
  const consumer = kafka.consumer({ groupId: `mends-${randomUUID()}`, maxWaitTimeInMs: 1_000 });
  const producer = kafka.producer();
  let intervalMs = 0;
  let fetches = 0;
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    if (payload.apiName === 'Fetch') fetches += 1;
  });
  const values: string[] = [];
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  const publish = async (): Promise<void> => {
    for (let number = 0; number < MESSAGES; number += 1) {
      await producer.send({ topic, messages: [{ value: String(number) }] });
      await sleep(EVERY_MS);
    }
  };
  /** How many fetches took the messages in, and how many intervals that lasted. */
  const fetchAll = async (): Promise<{ fetches: number; intervals: number }> => {
    fetches = 0;
    values.length = 0;
    const startedMs = performance.now();
    await publish();
    await expect.poll(() => values.length).toBe(MESSAGES);
    return { fetches, intervals: (performance.now() - startedMs) / INTERVAL_MS };
  };
  await Promise.all([consumer.connect(), producer.connect()]);
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      fetchIntervalMs: () => intervalMs,
      eachMessage: async ({ message }) => void values.push(String(message.value)),
    });
    await joined;

    const free = await fetchAll();
    expect(free.fetches).toBeGreaterThan(2 * free.intervals);
    intervalMs = INTERVAL_MS;
    const held = await fetchAll();

    // However late a timer or a request is, only the one under way and those at the two ends come on top.
    expect(held.fetches).toBeLessThanOrEqual(held.intervals + 3);
  } finally {
    await Promise.all([consumer.disconnect(), producer.disconnect()]);
  }
});
