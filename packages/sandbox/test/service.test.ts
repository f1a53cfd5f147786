import { describe, expect, test } from 'vitest';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import { ManualClock } from '../src/clock.ts';
import { transferIn } from '../src/routes/transfer-in.ts';
import { Sandbox } from '../src/sandbox.ts';
import { DEFAULT_SETTINGS } from '../src/settings.ts';
import { ANY_STRING, quoteRequest, sandboxForTest } from './support.ts';

function basic(pair: string): string {
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

describe('credentials', () => {
  test('any pair of which neither part is empty is taken by default', async () => {
    const sandbox = await sandboxForTest();
    const status = async (authorization: string): Promise<number> =>
      (await sandbox.send('GET', '/transactions', undefined, { authorization })).status;
    expect(await status(basic('a:b'))).toBe(200);
    expect(await status(basic('a:b:c'))).toBe(200);
    for (const bad of [basic('a:'), basic(':b'), basic('ab'), 'Bearer x', 'Basic', 'Basic ***', basic('')]) {
      expect(await status(bad)).toBe(401);
    }
  });

  test('only those that were set, if they were', async () => {
    const sandbox = await sandboxForTest({ tokenId: 'id', clientSecret: 'secret' });
    const send = (pair: string) => sandbox.send('GET', '/transactions', undefined, { authorization: basic(pair) });
    expect((await send('id:secret')).status).toBe(200);
    const refused = await send('id:other');
    expect(refused).toMatchObject({
      status: 401,
      body: { status: 401, code: 'UNAUTHORIZED', message: ANY_STRING },
    });
    expect(refused.headers['www-authenticate']).toMatch(/^Basic /);
  });

  test('are wanted by every endpoint below the version, and nothing happens without', async () => {
    const sandbox = await sandboxForTest();
    const body = JSON.stringify(quoteRequest());
    const others = ['/quotes/Quote:1/execute', '/transactions/Transaction:1/reject'];
    for (const path of ['/quotes', '/transfer-in', '/sandbox/uma/receive', ...others])
      expect((await fetch(sandbox.running.baseUrl + path, { method: 'POST', body })).status).toBe(401);
    expect((await sandbox.effects()).totals['create-quote']).toEqual({ calls: 0, effects: 0 });
  });
});

describe('paths and methods', () => {
  test('another version, and paths that the interface does not have, are 404', async () => {
    const sandbox = await sandboxForTest();
    const ids = ['/transactions/Transaction:1', '/quotes/Quote:1', '/quotes//execute'];
    for (const path of ['/', '/quote', '/quotes/', '/Quotes', ...ids]) {
      expect(await sandbox.get(path)).toMatchObject({ status: 404, body: { status: 404, code: 'NOT_FOUND' } });
    }
    for (const base of ['', '/2025-10-14', '/2025-10-13x', '/v1']) {
      expect((await fetch(`${sandbox.running.url}${base}/transactions`)).status).toBe(404);
    }
  });

  test.each([
    ['GET', '/quotes', 'POST'],
    ['POST', '/transactions', 'GET'],
    ['DELETE', '/transactions', 'GET'],
    ['PUT', '/quotes/Quote:1/execute', 'POST'],
    ['GET', '/sandbox/uma/receive', 'POST'],
  ])('%s %s is 405, which allows %s', async (method, path, allow) => {
    const sandbox = await sandboxForTest();
    expect(await sandbox.send(method, path)).toMatchObject({ status: 405, headers: { allow }, body: { status: 405 } });
  });

  test('ids that do not exist are 404, whatever characters they have, and an id that cannot be decoded is 400', async () => {
    const sandbox = await sandboxForTest();
    for (const id of ['Quote:1', 'x', 'Quote:a/b?c', 'Quote:%', 'Quötè:1']) {
      const encoded = encodeURIComponent(id);
      const executed = await sandbox.post(`/quotes/${encoded}/execute`);
      expect(executed).toMatchObject({ status: 404, body: { code: 'QUOTE_NOT_FOUND' } });
      const rejected = await sandbox.post(`/transactions/${encoded}/reject`);
      expect(rejected).toMatchObject({ status: 404, body: { code: 'TRANSACTION_NOT_FOUND' } });
    }
    expect((await sandbox.post('/quotes/%zz/execute')).status).toBe(400);
  });
});

describe('limits', () => {
  test('a body that is too large is 413, and one that is not JSON by its type 415', async () => {
    const sandbox = await sandboxForTest();
    const large = await sandbox.post('/quotes', quoteRequest({ description: 'x'.repeat(300_000) }));
    expect(large).toMatchObject({ status: 413, body: { status: 413 } });
    const headers = { 'content-type': 'text/plain' };
    expect((await sandbox.send('POST', '/quotes', quoteRequest(), headers)).status).toBe(415);
    expect((await sandbox.send('POST', '/quotes', quoteRequest(), { 'content-encoding': 'gzip' })).status).toBe(415);
    const withCharset = { 'content-type': 'application/json; charset=utf-8' };
    expect((await sandbox.send('POST', '/quotes', quoteRequest(), withCharset)).status).toBe(201);
  });

  test('beyond the rate limit the answer is 429 with Retry-After, until time has passed', async () => {
    const sandbox = await sandboxForTest({ rateLimitPerSecond: 3 });
    const statuses = [];
    for (let call = 0; call < 5; call++) statuses.push((await sandbox.get('/transactions')).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const refused = await sandbox.transferIn();
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' }, body: { code: 'RATE_LIMITED' } });
    expect((await sandbox.effects()).totals['transfer-in']).toEqual({ calls: 1, effects: 0 });
    sandbox.clock.advance(1000);
    expect((await sandbox.transferIn()).status).toBe(201);
    await sandbox.set({ rateLimitPerSecond: null });
    for (let call = 0; call < 10; call++) expect((await sandbox.get('/transactions')).status).toBe(200);
  });
});

describe('control', () => {
  test('a reset puts everything back to the start', async () => {
    const sandbox = await sandboxForTest({ accounts: [{ id: 'InternalAccount:a', balance: 7n }] });
    await sandbox.set({ settleMs: 1, honourKeys: [] });
    await sandbox.addFaults({ kind: 'drop-before', operation: 'create-quote' });
    await sandbox.transferIn('ExternalAccount:x', 'InternalAccount:a', 5, 'k');
    expect((await sandbox.control('POST', 'reset')).body).toEqual({ reset: true });
    expect((await sandbox.get('/transactions')).body).toEqual({ data: [], hasMore: false, totalCount: 0 });
    expect(await sandbox.books()).toMatchObject({ balanced: true, transactions: 0, entries: 1 });
    expect((await sandbox.effects()).operations['transfer-in']).toEqual({});
    expect((await sandbox.control('GET', 'settings')).body).toMatchObject({
      settleMs: 5000,
      honourKeys: ['transfer-in'],
    });
    expect(await sandbox.faults()).toEqual([]);
  });

  test('accounts get currency, balance and customer; the currency of one that exists stays', async () => {
    const sandbox = await sandboxForTest();
    const { body } = await sandbox.control('POST', 'accounts', [
      { id: 'InternalAccount:e', currency: 'EUR', balance: '12345678901234567890', customerId: 'Customer:me' },
      { id: 'ExternalAccount:e', currency: 'EUR' },
    ]);
    expect(body.accounts).toMatchObject([
      { id: 'InternalAccount:e', currency: 'EUR', balance: '12345678901234567890', customerId: 'Customer:me' },
      { id: 'ExternalAccount:e', currency: 'EUR', balance: '0' },
    ]);
    const { body: transfer } = await sandbox.transferIn('ExternalAccount:e', 'InternalAccount:e');
    expect(transfer).toMatchObject({ customerId: 'Customer:me', receivedAmount: { currency: { code: 'EUR' } } });
    expect((await sandbox.control('POST', 'accounts', { id: 'InternalAccount:e', currency: 'USD' })).status).toBe(409);
    expect(
      (await sandbox.control('POST', 'accounts', { id: 'InternalAccount:e', balance: 3 })).body.accounts[0].balance,
    ).toBe('3');
    expect((await sandbox.books()).balanced).toBe(true);
  });

  test('a pace that is changed at run time counts for what begins afterwards', async () => {
    const sandbox = await sandboxForTest();
    const statusOf = async ({ id }: { id: string }): Promise<string> => (await sandbox.transaction(id)).status;
    const { body: slow } = await sandbox.transferIn();
    await sandbox.set({ settleMs: 100, approvalMs: 200, quoteLifetimeMs: 300 });
    const { body: quick } = await sandbox.transferIn();
    const { body: received } = await sandbox.receive();
    const { body: quote } = await sandbox.quote();
    sandbox.clock.advance(100);
    expect([await statusOf(slow), await statusOf(quick)]).toEqual(['PENDING', 'COMPLETED']);
    sandbox.clock.advance(100);
    expect(await statusOf(received)).toBe('COMPLETED');
    sandbox.clock.advance(100);
    expect(await statusOf({ id: quote.transactionId })).toBe('EXPIRED');
  });

  test('effects are reported by operation, with and without a key', async () => {
    const sandbox = await sandboxForTest();
    const { body } = await sandbox.transferIn('ExternalAccount:a', 'InternalAccount:b', 5, 'k');
    await sandbox.transferIn();
    await sandbox.get('/transactions');
    expect(await sandbox.effects()).toMatchObject({
      operations: { 'transfer-in': { k: { calls: 1, effects: 1, transactionIds: [body.id] } } },
      unkeyed: { 'transfer-in': { calls: 1, effects: 1 }, 'list-transactions': { calls: 1, effects: 0 } },
      totals: { 'transfer-in': { calls: 2, effects: 2 } },
    });
  });

  test('unknown control paths are 404 and wrong methods 405', async () => {
    const sandbox = await sandboxForTest();
    expect((await sandbox.control('GET', 'nothing')).status).toBe(404);
    expect(await sandbox.control('DELETE', 'effects')).toMatchObject({ status: 405, headers: { allow: 'GET' } });
  });
});

test('time that has passed shows in every answer, even where no timer has fired yet', async () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const clock = { nowMs: () => nowMs, wakeAt: () => () => undefined };
  const sandbox = await sandboxForTest({ clock });
  const { body: quote } = await sandbox.quote();
  nowMs += 60_000;
  expect(await sandbox.transaction(quote.transactionId)).toMatchObject({
    status: 'EXPIRED',
    updatedAt: quote.expiresAt,
  });
  expect((await sandbox.post(`/quotes/${quote.id}/execute`)).status).toBe(409);
});

test('a hundred thousand payments on their way complete with one advance of the clock, in the right order', async () => {
  const clock = new ManualClock();
  const credentials = { tokenId: null, clientSecret: null };
  const { world } = new Sandbox({ settings: DEFAULT_SETTINGS, credentials, clock, accounts: [], randomSeed: 1 });
  const body = parseLossless(
    '{"source":{"accountId":"ExternalAccount:a"},"destination":{"accountId":"InternalAccount:b"},"amount":1}',
  );
  for (let index = 0; index < 100_000; index++) {
    if (index % 1000 === 0) clock.advance(1);
    transferIn(world, body);
  }
  clock.advance(10_000);
  expect(
    world.timeline.every(
      ({ status, settledAtMs, createdAtMs }) => status === 'COMPLETED' && settledAtMs === createdAtMs + 5000,
    ),
  ).toBe(true);
  expect([...world.books.totals().values()]).toEqual([0n]);
});
