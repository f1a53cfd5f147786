/**
 * Invariant I5 at the start: a Kafka that stands still at whichever step is waited for. The process stays, says what it waits for,
 * leaves no connection of a failed try behind, and ends in order when it is told to. One process for each step, all at once, for
 * they mostly wait. A Kafka that goes away, and a minute of it, are proofs of their own (proofs/long/start-for-long.test.ts).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { saysWhy, useStarts } from '../support/start-steps.ts';
import { useStack } from '../support/test-stack.ts';

const stack = useStack({ name: 'start', lanes: 6 });
const starts = useStarts(stack);

/** Longer than one request may take. */
const STILL_MS = 13_000;
const ENDED_MS_MAX = 15_000;

test('at every step, a Kafka that stands still is waited for, and the processors go on by themselves', async () => {
  const waiting = await starts.upToEach('still');
  await delay(STILL_MS);
  for (const one of waiting) {
    expect(await saysWhy(one)).toMatch(new RegExp(`waited \\d+ s for Kafka at ${one.gate.address}`));
    expect(one.gate.connections()).not.toEqual([]);
  }
  await starts.allGoOn(waiting, 'still');
});

test('at every step, a process that waits for it ends in order, and soon, when it is told to', async () => {
  const waiting = await starts.upToEach('still');
  await Promise.all(waiting.map(saysWhy));
  const beganMs = performance.now();
  const ends = await Promise.all(waiting.map(({ processor }) => processor.stop()));
  expect(ends).toEqual(waiting.map(() => ({ code: 0, signal: null })));
  expect(performance.now() - beganMs).toBeLessThan(ENDED_MS_MAX);
});
