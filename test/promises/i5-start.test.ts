/**
 * Invariant I5 at the start: a process waits for a Kafka that stands still, at any step. The process stays, says what it waits
 * for, leaves no connection of a failed try behind, and ends in order when asked to. One process for each step, all at once,
 * because they mostly wait. Every other one is asked to end. proofs/long/start-for-long.test.ts tries the ends at every step,
 * a Kafka that goes away, and a minute.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { saysWhy, useStarts } from '../support/start-steps.ts';
import { useStack } from '../support/test-stack.ts';

const stack = useStack({ name: 'start', lanes: 6 });
const starts = useStarts(stack);

/** Longer than one request may take. */
const STILL_MS = 13_000;

test('at every step, a Kafka that stands still is waited for: processors end in order if asked to, the others go on', async () => {
  const waiting = await starts.upToEach('still');
  await delay(STILL_MS);
  for (const one of waiting) {
    expect(await saysWhy(one)).toMatch(new RegExp(`waited \\d+ s for Kafka at ${one.gate.address}`));
    expect(one.gate.connections()).not.toEqual([]);
  }
  const toldToEnd = waiting.filter((_, index) => index % 2 === 1);
  await starts.allEnd(toldToEnd);
  await starts.allGoOn(
    waiting.filter((one) => !toldToEnd.includes(one)),
    'still',
  );
});
