/**
 * Invariant I1: a command leaves the input only into the ledger, and the ledger only into a terminal result. Kills at work are
 * tried in i2-no-money-twice.test.ts.
 */
import { afterEach, expect, test } from 'vitest';
import { publishTransfers } from '../support/commands.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'lost', settings: { API_MAX_CONCURRENCY: '2' } });

afterEach(() => stack().endProcessors());

test('SIGTERM lets the calls under way end, commits their answers and exits with 0; the others wait unsent', async () => {
  const { journal, service } = stack();
  await service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 600, at: 'after' });
  const first = await stack().startProcessor({ API_TIMEOUT_MS: '8000' });
  const keys = await publishTransfers(stack(), 'drained', 30);
  await eventually(
    () => service.callsMade(),
    (calls) => calls > 0,
    'calls to be under way',
  );
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  const called = await service.callsMade();
  expect(called).toBeLessThan(keys.length);
  await journal.until(() => journal.resultCount() === called, 'an answer for each call that had begun');
  await service.clearFaults();
  await stack().startProcessor();
  const results = await journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
  const { operations } = await service.effects();
  expect(keys.map((key) => operations['transfer-in'][key])).toMatchObject(keys.map(() => ({ calls: 1, effects: 1 })));
});
