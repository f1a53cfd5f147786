/** A lane that moves to another member in order, with a backlog: calls that wait for their turn were never sent, and all say so. */
import { expect } from 'vitest';
import { transferInOf } from '../support/commands.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({ name: 'handover', sandbox: { settleMs: 0 } });

test('commands that wait for the rate limit when a member joins are called once, or end EXPIRED without a call', async () => {
  const settings = { API_MAX_RPS: '3' };
  await stack().startProcessor(settings);
  const keys = Array.from({ length: 60 }, (_, index) => `waiting-${index}`);
  const expiresAt = new Date(Date.now() + 14_000);
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key), { expiresAt })));
  await eventually(
    () => stack().service.callsMade(),
    (made) => made > 3,
    'the first calls',
  );
  await stack().startProcessor(settings);
  const results = await stack().journal.resultsOfAll(keys);
  const { operations } = await stack().service.effects();
  const rows = results.map(({ key, value: { attempts, outcome } }) => {
    const calls = operations['transfer-in'][key]?.calls ?? 0;
    return `${outcome}, ${attempts} attempts, ${calls} calls`;
  });
  expect(new Set(rows)).toEqual(new Set(['ACCEPTED, 1 attempts, 1 calls', 'EXPIRED, 0 attempts, 0 calls']));
});
