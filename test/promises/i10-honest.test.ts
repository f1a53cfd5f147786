/** Invariant I10: where it cannot be known whether a call took effect, the outcome is UNKNOWN; ACCEPTED is not settled. */
import { afterEach, beforeAll, expect, test } from 'vitest';
import { accountOf, executionOf, rejectionOf, STARTING_BALANCE, transferInOf } from '../support/commands.ts';
import type { ResultEvent } from '../support/journal.ts';
import { useStack } from '../support/test-stack.ts';

const stack = useStack({ name: 'honest', sandbox: { settleMs: 0 }, settings: { API_TIMEOUT_MS: '1000' } });

beforeAll(async () => {
  await stack().startProcessor();
});
afterEach(async () => {
  await stack().service.clearFaults();
});

/** Settled by a look-up, or left to a person with a reason; never refused, and never called a success for no reason. */
function expectHonest({ value }: ResultEvent): void {
  if (value.outcome === 'ACCEPTED') {
    expect(value.settledBy).toBe('LOOKUP');
    return;
  }
  expect(value.outcome).toBe('UNKNOWN');
  expect(value.error).toMatchObject({ code: 'UNDECIDABLE' });
  expect(value.error?.message.length).toBeGreaterThan(40);
}

const lostAnswers: [string, Record<string, string | number | boolean>][] = [
  ['the connection is cut after the effect', { kind: 'drop-after' }],
  ['the answer is cut off', { kind: 'cut-body' }],
  ['the answer comes too late', { kind: 'delay', at: 'after', delayMs: 1500 }],
  ['the effect comes after we gave up', { kind: 'apply-late', delayMs: 1200, hold: true }],
];

test.each(lostAnswers)('execution: %s', async (name, fault) => {
  const key = `execute-${name.replaceAll(' ', '-')}`;
  const execution = await executionOf(stack(), key);
  await stack().service.addFaults({ ...fault, kind: String(fault['kind']), operation: 'execute-quote', count: 1 });
  await stack().publisher.publish('execute-quote', key, execution);
  expectHonest(await stack().journal.result(key));
  expect((await stack().service.effects()).quotes[execution.quoteId]).toMatchObject({ executions: 1 });
});

test.each(lostAnswers)('rejection: %s', async (name, fault) => {
  const key = `reject-${name.replaceAll(' ', '-')}`;
  const rejection = await rejectionOf(stack(), key);
  await stack().service.addFaults({ ...fault, kind: String(fault['kind']), operation: 'reject-transaction', count: 1 });
  await stack().publisher.publish('reject-transaction', key, rejection);
  expectHonest(await stack().journal.result(key));
  expect((await stack().service.effects()).transactions[rejection.transactionId]).toMatchObject({ rejections: 1 });
});

test.each(lostAnswers)('transfer in, whose key the service honours, is repeated and ACCEPTED: %s', async (name, fault) => {
  const key = `transfer-${name.replaceAll(' ', '-')}`;
  await stack().service.addFaults({ ...fault, kind: String(fault['kind']), operation: 'transfer-in', key, count: 1 });
  await stack().publisher.publish('transfer-in', key, transferInOf(key));
  const { value } = await stack().journal.result(key);
  expect(value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'ANSWER', attempts: 2 });
  expect((await stack().service.effects()).operations['transfer-in'][key]).toMatchObject({ effects: 1 });
  expect((await stack().service.balanceOf(accountOf(key))) - STARTING_BALANCE).toBe(100n);
});

test('ACCEPTED says that the service took the command, not that the payment will come to be', async () => {
  const fields = { ...transferInOf('fails-later'), source: { accountId: 'ExternalAccount:fails-015' } };
  await stack().publisher.publish('transfer-in', 'fails-later', fields);
  const { value } = await stack().journal.result('fails-later');
  expect(value).toMatchObject({ outcome: 'ACCEPTED', transaction: { status: 'PENDING', failureReason: null } });
  const failed = await stack().service.transactions('?status=FAILED');
  expect(failed.map(({ id }) => id)).toContain(value.transaction?.id);
});
