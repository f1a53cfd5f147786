/** Against the whole service: every operation, and what a reading lets one conclude about effects. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type RunningSandbox } from 'payment-processor-sandbox/start';
import type { PaymentApi } from '../../src/api/payment-api.ts';
import type { ChangeRequest, Reading } from '../../src/api/types.ts';
import { createQuote, oneOfEach, paymentApi, transferIn } from './payment-api-in-test.ts';

let sandbox: RunningSandbox;
let api: PaymentApi;
let keys = 0;

beforeEach(async () => {
  sandbox = await startSandbox({ settleMs: 60_000, approvalMs: 60_000 });
  onTestFinished(() => sandbox.stop());
  api = paymentApi(sandbox.baseUrl, { timeoutMs: 10_000 });
  await api.start();
});

function perform(request: ChangeRequest, idempotencyKey = `key-${(keys += 1)}`): Promise<Reading> {
  return api.perform(request, { idempotencyKey });
}

async function control<Answer>(path: string, body?: object): Promise<Answer> {
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`${sandbox.url}/control/${path}`, init);
  expect(answer.ok).toBe(true);
  return (await answer.json()) as Answer;
}

interface Effects {
  operations: Record<string, Record<string, { calls: number; effects: number }>>;
}

async function effectsOf(key: string): Promise<{ calls: number; effects: number }> {
  const { operations } = await control<Effects>('effects');
  return operations['transfer-in']?.[key] ?? { calls: 0, effects: 0 };
}

describe('each operation', () => {
  test('a quote is created, found in every field, executed once, and its transaction listed', async () => {
    const created = await perform(createQuote);
    expect(created).toMatchObject({
      kind: 'accepted',
      httpStatus: 201,
      warnings: [],
      rawResponse: null,
      quote: { status: 'PENDING', totalSendingAmount: 9_000_000_000_000_000n, otherFieldsJson: null },
    });
    if (created.kind !== 'accepted' || created.quote === null) throw new Error(created.kind);
    const execute: ChangeRequest = { operation: 'execute-quote', fields: { quoteId: created.quote.id } };
    expect(await perform(execute)).toMatchObject({ kind: 'accepted', warnings: [], quote: { id: created.quote.id } });
    expect(await perform(execute)).toMatchObject({ kind: 'conflict', httpStatus: 409 });
    const list = await api.listTransactions({ type: 'OUTGOING', limit: 100 });
    expect(list).toMatchObject({
      kind: 'page',
      hasMore: false,
      warnings: [],
      data: [{ id: created.quote.transactionId, type: 'OUTGOING' }],
    });
  });

  test('a quote is executed at its creation', async () => {
    const reading = await perform({ ...createQuote, fields: { ...createQuote.fields, immediatelyExecute: true } });
    expect(reading).toMatchObject({
      kind: 'accepted',
      quote: { status: expect.stringMatching(/PROCESSING|COMPLETED/) as string },
    });
  });

  test('a quote pays to a UMA address by its further fields', async () => {
    const destination = {
      destinationType: 'UMA_ADDRESS',
      accountId: null,
      otherFieldsJson: '{"umaAddress":"$receiver@uma.example"}',
    };
    const reading = await perform({
      ...createQuote,
      fields: { ...createQuote.fields, destination, lookupId: 'Lookup:l1' },
    });
    expect(reading).toMatchObject({
      kind: 'accepted',
      quote: { destination: { otherFieldsJson: expect.stringContaining('umaAddress') as string } },
    });
  });

  test('a transfer-in is created, and its key gets the same answer', async () => {
    const first = await perform(transferIn, 'same-key');
    expect(first).toMatchObject({
      kind: 'accepted',
      httpStatus: 201,
      warnings: [],
      transaction: { type: 'INCOMING', receivedAmount: { amount: 12_345n } },
    });
    expect(await perform(transferIn, 'same-key')).toEqual(first);
    expect(await effectsOf('same-key')).toMatchObject({ calls: 2, effects: 1 });
  });

  test('a simulated UMA payment arrives and is rejected', async () => {
    const received = await perform(oneOfEach['simulate-uma-receive']);
    if (received.kind !== 'accepted' || received.transaction === null) throw new Error(received.kind);
    const { id: transactionId } = received.transaction;
    const rejected = await perform({ operation: 'reject-transaction', fields: { transactionId, reason: 'not ours' } });
    expect(rejected).toMatchObject({
      kind: 'accepted',
      warnings: [],
      transaction: { id: transactionId, status: 'REJECTED' },
    });
  });

  test('an id that does not exist is not here, and the service is not held for it', async () => {
    for (const quoteId of ['Quote:none', 'Quote:a b/c?d#e', '..', '.', '%']) {
      expect(await perform({ operation: 'execute-quote', fields: { quoteId } })).toMatchObject({
        kind: expect.stringMatching(/not-here|refused/) as string,
      });
    }
    expect(api.state().kind).toBe('serving');
  });

  test('lists are paged through by cursor', async () => {
    for (let index = 0; index < 5; index += 1) await perform(transferIn);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await api.listTransactions({ limit: 2, ...(cursor === null ? {} : { cursor }) });
      if (page.kind !== 'page') throw new Error(page.reason);
      expect(page.totalCount).toBe(5n);
      seen.push(...page.data.map((transaction) => transaction.id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(5);
    expect(seen).toHaveLength(5);
  });
});

describe('at the start', () => {
  test('wrong credentials and a wrong version segment are told apart', async () => {
    const strict = await startSandbox({ tokenId: 'right', clientSecret: 'right' });
    onTestFinished(() => strict.stop());
    const wrongCredentials = paymentApi(strict.baseUrl);
    const wrongVersion = paymentApi(`${sandbox.url}/2024-01-01`);
    await Promise.all([wrongCredentials.start(), wrongVersion.start()]);
    expect(wrongCredentials.state()).toMatchObject({
      kind: 'held',
      reason: expect.stringContaining('credentials') as string,
    });
    expect(wrongVersion.state()).toMatchObject({
      kind: 'held',
      reason: expect.stringContaining('version segment') as string,
    });
  });
});

describe('what a reading lets one conclude about effects', () => {
  beforeEach(async () => {
    // The breaker has tests of its own; here faults are to go on.
    api = paymentApi(sandbox.baseUrl, { timeoutMs: 400, breakerErrorPercent: 100 });
    await api.start();
  });

  test('whatever fault hits a call: accepted took effect, refused and never sent did not, and none was called twice', async () => {
    const rule = (kind: string, fields: object = {}): object => ({
      operation: 'transfer-in',
      kind,
      share: 0.12,
      ...fields,
    });
    await control('faults', [
      rule('drop-before'),
      rule('drop-after'),
      rule('cut-body'),
      rule('apply-late', { delayMs: 5 }),
      rule('apply-late', { delayMs: 600, hold: true, share: 0.03 }),
      rule('delay', { delayMs: 600, share: 0.03 }),
      rule('status', { httpStatus: 503 }),
      rule('status', { httpStatus: 429, retryAfter: 1 }),
      rule('status', { httpStatus: 400, body: 'no' }),
      rule('status', { httpStatus: 200, body: '<html>', contentType: 'text/html' }),
    ]);
    const readings = new Map<string, Reading['kind']>();
    const worker = async (name: number): Promise<void> => {
      for (let index = 0; index < 30; index += 1) {
        const key = `worker-${name}-${index}`;
        readings.set(key, (await perform(transferIn, key)).kind);
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(worker));
    await control('faults', []);
    const { operations } = await control<Effects>('effects');
    for (const [key, kind] of readings) {
      const { calls, effects } = operations['transfer-in']?.[key] ?? { calls: 0, effects: 0 };
      if (kind === 'doubt') expect(calls, key).toBeLessThanOrEqual(1);
      else expect(calls, `${key} ${kind}`).toBe(kind === 'never-sent' ? 0 : 1);
      if (kind === 'accepted') expect(effects, key).toBe(1);
      else if (kind !== 'doubt') expect(effects, `${key} ${kind}`).toBe(0);
    }
    expect(new Set(readings.values())).toEqual(new Set(['accepted', 'doubt', 'refused', 'told-to-wait']));
  });

  test('a call that is applied after we gave up is doubt, and the same key settles it', async () => {
    await control('faults', { operation: 'transfer-in', kind: 'apply-late', delayMs: 600, hold: true, count: 1 });
    expect(await perform(transferIn, 'late')).toMatchObject({ kind: 'doubt', httpStatus: null });
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await perform(transferIn, 'late')).toMatchObject({ kind: 'accepted' });
    expect(await effectsOf('late')).toMatchObject({ calls: 2, effects: 1 });
  });
});

test('a service that writes integers as 1000.0 is read as one that writes 1000', async () => {
  await control('settings', { writePointZero: true });
  const transfer = await perform(transferIn);
  expect(transfer).toMatchObject({
    kind: 'accepted',
    warnings: [],
    transaction: {
      receivedAmount: { amount: 12_345n, currency: { decimals: 2, otherFieldsJson: null }, otherFieldsJson: null },
    },
  });
  expect(await perform(createQuote)).toMatchObject({
    kind: 'accepted',
    warnings: [],
    quote: { totalSendingAmount: expect.any(BigInt) as bigint, feesIncluded: expect.any(BigInt) as bigint },
  });
  expect(await api.listTransactions({})).toMatchObject({ kind: 'page', warnings: [], totalCount: 2n });
});
