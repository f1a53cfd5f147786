/** Invariant I1: a command leaves the input only into the ledger, and the ledger only into a terminal result. */
import { afterEach, expect, test } from 'vitest';
import { transferInOf } from '../support/commands.ts';
import type { Stack } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'lost', settings: { API_MAX_CONCURRENCY: '2' } });

afterEach(async () => {
  await stack().endProcessors();
  await stack().service.clearFaults();
});

async function publishTransfers(to: Stack, prefix: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await Promise.all(keys.map((key) => to.publisher.publish('transfer-in', key, transferInOf(key))));
  return keys;
}

async function tallies(of: Stack, keys: readonly string[]): Promise<{ calls: number; effects: number }[]> {
  const { operations } = await of.service.effects();
  return keys.map((key) => ({
    calls: operations['transfer-in'][key]?.calls ?? 0,
    effects: operations['transfer-in'][key]?.effects ?? 0,
  }));
}

test('commands that were admitted by a process that was killed are answered by the next one', async () => {
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 700, at: 'after' });
  const first = await stack().startProcessor();
  const keys = await publishTransfers(stack(), 'killed', 12);
  await eventually(
    () => tallies(stack(), keys),
    (all) => all.filter(({ calls }) => calls > 0).length >= 3,
    'calls to be under way',
  );
  await first.kill9();
  const before = new Set(
    stack()
      .journal.results()
      .map(({ key }) => key),
  );
  expect(before.size).toBeLessThan(12);
  await stack().service.clearFaults();
  await stack().startProcessor();
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
  expect((await tallies(stack(), keys)).map(({ effects }) => effects)).toEqual(keys.map(() => 1));
});

test('SIGTERM lets the calls under way end, commits their answers and exits with 0; the others wait unsent', async () => {
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 600, at: 'after' });
  const first = await stack().startProcessor({ API_TIMEOUT_MS: '8000' });
  const keys = await publishTransfers(stack(), 'drained', 30);
  await eventually(
    () => tallies(stack(), keys),
    (all) => all.some(({ calls }) => calls > 0),
    'calls to be under way',
  );
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  const called = (await tallies(stack(), keys)).filter(({ calls }) => calls > 0).length;
  expect(called).toBeLessThan(keys.length);
  await stack().journal.until(
    () => keys.filter((key) => stack().journal.results(key).length > 0).length === called,
    'an answer for each call that had begun',
  );
  await stack().service.clearFaults();
  await stack().startProcessor();
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
  expect(await tallies(stack(), keys)).toEqual(keys.map(() => ({ calls: 1, effects: 1 })));
});
