/** The longest wait of a fetch can be set anew for each fetch. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { connectKafka, createTopic } from './local-kafka.ts';

const QUICK_MS = 20;
const CALM_MS = 2_000;
const WATCHED_MS = 1_000;

test('a consumer asks before each fetch how long it may wait', async () => {
  const kafka = connectKafka();
  const topic = await createTopic(kafka);
  let waitMs = QUICK_MS;
  const consumer = kafka.consumer({ groupId: `mends-${randomUUID()}`, maxWaitTimeInMs: () => waitMs });
  let fetches = 0;
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    if (payload.apiName === 'Fetch') fetches += 1;
  });
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async () => undefined });
    await joined;

    await sleep(WATCHED_MS);
    const quick = fetches;
    waitMs = CALM_MS;
    await sleep(WATCHED_MS);
    fetches = 0;
    await sleep(WATCHED_MS);

    // The fetch that waits a second and longer has no answer yet; at most the previous one is counted.
    expect(quick).toBeGreaterThan(3);
    expect(fetches).toBeLessThanOrEqual(1);
  } finally {
    await consumer.disconnect();
  }
});
