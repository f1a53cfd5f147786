/** Invariant I10: where it cannot be known whether a call took effect, the outcome is UNKNOWN. */
import { expect } from 'vitest';
import { accountOf, executionOf, rejectionOf, STARTING_BALANCE, transferInOf } from '../support/commands.ts';
import type { ResultEvent } from '../support/journal.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({
  name: 'honest',
  sandbox: { settleMs: 0 },
  settings: { API_TIMEOUT_MS: '2000', SETTLING_TIME_MS: '3000' },
});

/** It took effect, and the look-up found out. */
function expectLookedUp({ value }: ResultEvent): void {
  expect(value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'LOOKUP', revision: 1 });
}

const lostAnswers: [string, Record<string, string | number | boolean>][] = [
  ['the connection is cut after the effect', { kind: 'drop-after' }],
  ['the answer is cut off', { kind: 'cut-body' }],
  ['the answer comes too late', { kind: 'delay', at: 'after', delayMs: 8_000 }],
  ['the effect comes after we gave up', { kind: 'apply-late', delayMs: 2_300, hold: true }],
];

test.each(lostAnswers)('an execution is settled by a look-up where %s', async (name, fault) => {
  await stack().startProcessor();
  const key = `execute-${name.replaceAll(' ', '-')}`;
  const execution = await executionOf(stack(), key);
  await stack().service.addFaults({ ...fault, kind: String(fault['kind']), operation: 'execute-quote', count: 1 });
  await stack().publisher.publish('execute-quote', key, execution);
  expectLookedUp(await stack().journal.result(key));
  expect((await stack().service.effects()).quotes[execution.quoteId]).toMatchObject({ executions: 1 });
});

test.each(lostAnswers)('a rejection is settled by a look-up where %s', async (name, fault) => {
  await stack().startProcessor();
  const key = `reject-${name.replaceAll(' ', '-')}`;
  const rejection = await rejectionOf(stack(), key);
  await stack().service.addFaults({ ...fault, kind: String(fault['kind']), operation: 'reject-transaction', count: 1 });
  await stack().publisher.publish('reject-transaction', key, rejection);
  expectLookedUp(await stack().journal.result(key));
  expect((await stack().service.effects()).transactions[rejection.transactionId]).toMatchObject({ rejections: 1 });
});

test.each(lostAnswers)('a transfer in, whose key the service honours, is repeated where %s', async (name, fault) => {
  await stack().startProcessor();
  const key = `transfer-${name.replaceAll(' ', '-')}`;
  await stack().service.addFaults({ ...fault, kind: String(fault['kind']), operation: 'transfer-in', key, count: 1 });
  await stack().publisher.publish('transfer-in', key, transferInOf(key));
  const { value } = await stack().journal.result(key);
  expect(value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'ANSWER', attempts: 2 });
  expect((await stack().service.effects()).operations['transfer-in'][key]).toMatchObject({ effects: 1 });
  expect((await stack().service.balanceOf(accountOf(key))) - STARTING_BALANCE).toBe(100n);
});

test('a call that was cut before its effect is made again after the look-up, and takes effect once', async () => {
  await stack().startProcessor();
  const execution = await executionOf(stack(), 'again');
  const rejection = await rejectionOf(stack(), 'again-reject');
  await stack().service.addFaults(
    { kind: 'drop-before', operation: 'execute-quote', count: 1 },
    { kind: 'drop-before', operation: 'reject-transaction', count: 1 },
  );
  await stack().publisher.publish('execute-quote', 'again', execution);
  await stack().publisher.publish('reject-transaction', 'again-reject', rejection);
  const results = await stack().journal.resultsOfAll(['again', 'again-reject']);
  expect(results.map(({ value }) => [value.outcome, value.attempts])).toEqual([
    ['ACCEPTED', 2],
    ['ACCEPTED', 2],
  ]);
  const effects = await stack().service.effects();
  expect(effects.operations['execute-quote']['again']).toMatchObject({ calls: 2, effects: 1 });
  expect(effects.operations['reject-transaction']['again-reject']).toMatchObject({ calls: 2, effects: 1 });
  expect(effects.quotes[execution.quoteId]?.executions).toBe(1);
  expect(effects.transactions[rejection.transactionId]?.rejections).toBe(1);
});

test('where the look-up finds nothing, the outcome is UNKNOWN and says why', async () => {
  // Neither confirms the call nor ever shows its transaction.
  const service = await stack().hostileService(({ method }) =>
    method === 'POST' ? { httpStatus: 500, body: '{"code":"INTERNAL_ERROR"}' } : null,
  );
  await stack().startProcessor({ API_BASE_URL: service.baseUrl });
  const ids = { quoteId: 'Quote:nowhere', transactionId: 'Transaction:nowhere' };
  await stack().publisher.publish('execute-quote', 'nowhere', ids);
  await stack().publisher.publish('reject-transaction', 'nowhere-reject', { transactionId: ids.transactionId });
  for (const { value } of await stack().journal.resultsOfAll(['nowhere', 'nowhere-reject'])) {
    expect(value).toMatchObject({ outcome: 'UNKNOWN', error: { code: 'UNDECIDABLE' } });
    expect(value.error?.message).toContain('cannot know');
  }
  expect(service.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
});
