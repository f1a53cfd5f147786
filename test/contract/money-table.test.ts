/**
 * What a result lets its reader conclude about money: one sentence of the contract after the other, by the books. INVALID is in
 * test/promises/i6-bad-input.test.ts, CONFLICT in i3-one-result.test.ts, a time limit that had passed in operator-decisions.test.ts,
 * and each way to lose an answer in i10-honest.test.ts.
 */
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { accountOf, createQuoteOf, executionOf, STARTING_BALANCE, transferInOf } from '../support/commands.ts';
import type { ResultEvent } from '../support/journal.ts';
import { faultyFor } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';

// Payments are settled when the books are read.
const stack = useStack({ name: 'money', sandbox: { settleMs: 0 }, settings: { COMMAND_MAX_AGE: 'transfer-in=1m' } });

beforeAll(async () => {
  await stack().startProcessor(faultyFor('set-aside'));
});
afterEach(async () => {
  await stack().service.clearFaults();
});

/** What the account has more than it began with; 0 for one that was never touched. */
async function moved(key: string): Promise<bigint> {
  const books = await stack().service.books();
  expect(books.balanced).toBe(true);
  const line = books.balances.find(({ account }) => account === accountOf(key));
  return line === undefined ? 0n : BigInt(line.balance) - STARTING_BALANCE;
}

async function transfer(key: string, more: { source?: string; expiresAt?: Date } = {}): Promise<ResultEvent> {
  const fields = { ...transferInOf(key), ...(more.source === undefined ? {} : { source: { accountId: more.source } }) };
  await stack().publisher.publish('transfer-in', key, fields, {
    ...(more.expiresAt === undefined ? {} : { expiresAt: more.expiresAt }),
  });
  return stack().journal.result(key);
}

describe('ACCEPTED: the money may move', () => {
  test('a transfer in arrives once', async () => {
    expect((await transfer('accepted')).value.outcome).toBe('ACCEPTED');
    expect(await moved('accepted')).toBe(100n);
  });

  test('an execution takes the sending amount once; the quote before it moved nothing', async () => {
    const { publisher, journal } = stack();
    await publisher.publish('create-quote', 'paid', createQuoteOf('paid', 1000n));
    const { quote } = (await journal.result('paid')).value;
    expect(await moved('paid')).toBe(0n);
    const fields = { quoteId: quote?.id ?? '', transactionId: quote?.transactionId ?? null };
    await publisher.publish('execute-quote', 'paid-go', fields);
    expect((await journal.result('paid-go')).value.outcome).toBe('ACCEPTED');
    expect(await moved('paid')).toBe(-1000n);
  });

  test('a quote to be executed at once takes the sending amount once', async () => {
    const { publisher, journal, service } = stack();
    await publisher.publish('create-quote', 'at-once', {
      ...createQuoteOf('at-once', 1000n),
      immediatelyExecute: true,
    });
    const { value } = await journal.result('at-once');
    expect(value.outcome).toBe('ACCEPTED');
    expect(await moved('at-once')).toBe(-1000n);
    expect((await service.effects()).quotes[value.quote?.id ?? '']).toMatchObject({ executions: 1 });
  });

  test('a rejected payment goes back to its sender', async () => {
    const { publisher, journal, service } = stack();
    const payment = await service.simulateUmaReceive('Customer:rejected-x', 700);
    await publisher.publish('reject-transaction', 'rejected', { transactionId: payment.id });
    expect((await journal.result('rejected')).value.outcome).toBe('ACCEPTED');
    expect((await service.transactions('?status=REJECTED')).map(({ id }) => id)).toContain(payment.id);
    // It never arrived: the account has what it began with.
    const balance = await service.balanceOf('InternalAccount:rejected-x-USD');
    expect([0n, STARTING_BALANCE]).toContain(balance);
  });

  test('it does not say that the payment comes to be: one that fails later has its money returned', async () => {
    const { value } = await transfer('returned', { source: 'ExternalAccount:off-ramp-012' });
    expect(value).toMatchObject({ outcome: 'ACCEPTED', transaction: { status: 'PENDING', failureReason: null } });
    const failed = await stack().service.transactions('?status=FAILED');
    expect(failed.map(({ id }) => id)).toContain(value.transaction?.id);
    expect(await moved('returned')).toBe(0n);
  });
});

describe('REFUSED: this command moved nothing', () => {
  test('a transfer in that the service refuses', async () => {
    const { value } = await transfer('refused', { source: 'ExternalAccount:empty-002' });
    expect(value).toMatchObject({ outcome: 'REFUSED', httpStatus: 400, error: { code: 'INSUFFICIENT_BALANCE' } });
    expect(await moved('refused')).toBe(0n);
  });

  test('an execution of a quote that was executed before, by another command', async () => {
    const { publisher, journal } = stack();
    const execution = await executionOf(stack(), 'twice');
    await publisher.publish('execute-quote', 'twice-1', execution);
    await journal.result('twice-1');
    await publisher.publish('execute-quote', 'twice-2', execution);
    const { value } = await journal.result('twice-2');
    expect(value).toMatchObject({ outcome: 'REFUSED', httpStatus: 409 });
    expect(await moved('twice')).toBe(-1000n);
  });

  test('a rejection of a payment that cannot be rejected any more', async () => {
    const { publisher, journal, service } = stack();
    const payment = await service.simulateUmaReceive('Customer:too-late-x', 700);
    for (const key of ['too-late-1', 'too-late-2']) {
      await publisher.publish('reject-transaction', key, { transactionId: payment.id });
      await journal.result(key);
    }
    expect((await journal.result('too-late-2')).value).toMatchObject({
      outcome: 'REFUSED',
      error: { code: 'TRANSACTION_NOT_PENDING_PLATFORM_APPROVAL' },
    });
    expect((await service.effects()).transactions[payment.id]).toMatchObject({ rejectCalls: 2, rejections: 1 });
  });
});

describe('EXPIRED: nothing took effect', () => {
  test('an expires-at that passed while the service asked to wait', async () => {
    await stack().service.addFaults({ kind: 'status', operation: 'transfer-in', httpStatus: 429, retryAfter: 2 });
    const { value } = await transfer('waited', { expiresAt: new Date(Date.now() + 1500) });
    expect(value).toMatchObject({ outcome: 'EXPIRED', error: { code: 'TOO_OLD' } });
    expect(await moved('waited')).toBe(0n);
  });

  test('a quote of which no answer ever came: one that is not executed moves nothing', async () => {
    await stack().service.addFaults({ kind: 'drop-after', operation: 'create-quote' });
    const expiresAt = new Date(Date.now() + 1500);
    await stack().publisher.publish('create-quote', 'lost-quote', createQuoteOf('lost-quote'), { expiresAt });
    expect((await stack().journal.result('lost-quote')).value.outcome).toBe('EXPIRED');
    expect(await moved('lost-quote')).toBe(0n);
  });
});

describe('EXPIRED is never said of what may still take effect', () => {
  test('an execution whose time limit passed while in doubt, and which takes effect after that', async () => {
    const execution = await executionOf(stack(), 'late');
    // After our timeout and after expires-at, within the settling time.
    await stack().service.addFaults({
      kind: 'apply-late',
      operation: 'execute-quote',
      delayMs: 2000,
      hold: true,
      count: 1,
    });
    const expiresAt = new Date(Date.now() + 1000);
    await stack().publisher.publish('execute-quote', 'late', execution, { expiresAt });
    expect((await stack().journal.result('late')).value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'LOOKUP' });
    expect(await moved('late')).toBe(-1000n);
  });

  test('an execution that is proven not to have taken effect, and has no time left, is EXPIRED', async () => {
    const execution = await executionOf(stack(), 'proven');
    await stack().service.addFaults({ kind: 'drop-before', operation: 'execute-quote', count: 1 });
    const expiresAt = new Date(Date.now() + 600);
    await stack().publisher.publish('execute-quote', 'proven', execution, { expiresAt });
    expect((await stack().journal.result('proven')).value.outcome).toBe('EXPIRED');
    expect(await moved('proven')).toBe(0n);
  });
});

describe('FAILED: our own fault stopped it before anything was sent', () => {
  test('a command whose answer could not be written is set aside', async () => {
    await stack().publishRaw('transfer-in', {
      key: 'set-aside',
      value: '{"amount":"not an amount"}',
      headers: { 'content-type': 'application/json' },
    });
    const { value } = await stack().journal.result('set-aside');
    expect(value).toMatchObject({ outcome: 'FAILED', error: { code: 'SET_ASIDE' }, attempts: 0 });
    const letter = await stack().journal.deadLetter(({ key }) => key?.toString() === 'set-aside', 'set-aside');
    expect(letter.headers['dlq-reason']).toBe('SET_ASIDE');
    expect((await stack().service.effects()).operations['transfer-in']['set-aside']).toBeUndefined();
    expect((await transfer('after-set-aside')).value.outcome).toBe('ACCEPTED');
  });
});

describe('UNKNOWN: perhaps', () => {
  test('a transfer in whose key can no longer be trusted is left to an operator, not repeated', async () => {
    await stack().endProcessors();
    await stack().startProcessor({ API_IDEMPOTENT_OPERATIONS: '', IMMEDIATE_EXECUTION: 'native' });
    await stack().service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key: 'unkeyed', count: 1 });
    expect((await transfer('unkeyed')).value.outcome).toBe('UNKNOWN');
    expect((await stack().service.effects()).operations['transfer-in']['unkeyed']).toMatchObject({
      calls: 1,
      effects: 1,
    });
    expect(await moved('unkeyed')).toBe(100n);
  });

  test('a quote that the service is asked to execute at once is left to an operator where its answer is lost', async () => {
    const fields = { ...createQuoteOf('native-lost'), immediatelyExecute: true };
    await stack().service.addFaults({ kind: 'drop-after', operation: 'create-quote', count: 1 });
    await stack().publisher.publish('create-quote', 'native-lost', fields);
    expect((await stack().journal.result('native-lost')).value.outcome).toBe('UNKNOWN');
    expect((await stack().service.effects()).operations['create-quote']['native-lost']?.calls).toBe(1);
    expect(await moved('native-lost')).toBe(-1000n);
  });

  test('a quote that the service is asked to execute at once takes the sending amount once', async () => {
    const fields = { ...createQuoteOf('native'), immediatelyExecute: true };
    const executeCallsBefore = (await stack().service.effects()).totals['execute-quote']?.calls;
    await stack().publisher.publish('create-quote', 'native', fields);
    expect((await stack().journal.result('native')).value).toMatchObject({ outcome: 'ACCEPTED' });
    expect((await stack().service.effects()).totals['execute-quote']?.calls).toBe(executeCallsBefore);
    expect(await moved('native')).toBe(-1000n);
  });
});
