import { describe, expect, test } from 'vitest';
import { sandboxForTest, toAccount, type TestSandbox, type WireBody } from './support.ts';

/** One of each kind, a second apart; their ids in the order of creation. */
async function variety(sandbox: TestSandbox): Promise<string[]> {
  const toUma = { destinationType: 'UMA_ADDRESS', umaAddress: '$you@there.example' };
  const creations = [
    () => sandbox.transferIn('ExternalAccount:in', 'InternalAccount:home'),
    () => sandbox.quote(),
    () => sandbox.quote({ ...toAccount('ExternalAccount:out'), immediatelyExecute: true }),
    () => sandbox.receive({ receiverUmaAddress: '$me@home.example', customerId: 'Customer:me' }),
    () => sandbox.quote({ destination: toUma, lookupId: 'Lookup:1' }),
  ];
  const ids: string[] = [];
  for (const create of creations) {
    const { body } = await create();
    ids.push(body.id.startsWith('Quote:') ? body.transactionId : body.id);
    sandbox.clock.advance(1000);
  }
  return ids;
}

async function found(sandbox: TestSandbox, query: string): Promise<string[]> {
  const { status, body } = await sandbox.get(`/transactions?sortOrder=asc&${query}`);
  expect(status).toBe(200);
  expect(body.totalCount).toBe(body.data.length);
  return body.data.map((transaction) => transaction.id);
}

/** All ids, page by page, as long as there are more. */
async function paged(
  sandbox: TestSandbox,
  query: string,
  betweenPages: () => Promise<unknown> = async () => null,
): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 100; pages++) {
    const at = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await sandbox.get(`/transactions?${query}${at}`);
    expect(body.data).not.toEqual([]);
    ids.push(...body.data.map((transaction) => transaction.id));
    expect('nextCursor' in body).toBe(body.hasMore);
    if (!body.hasMore) return ids;
    cursor = body.nextCursor;
    await betweenPages();
  }
  throw new Error('the pages do not end');
}

async function transfers(sandbox: TestSandbox, count: number, advanceMs = 0): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    ids.push((await sandbox.transferIn()).body.id);
    sandbox.clock.advance(advanceMs);
  }
  return ids;
}

describe('filters', () => {
  test('each parameter finds what it names and nothing else', async () => {
    const sandbox = await sandboxForTest();
    const [transfer = '', quoted = '', executed = '', received = '', toUma = ''] = await variety(sandbox);
    const { reconciliationInstructions } = await sandbox.transaction(quoted);
    const cases: [string, string[]][] = [
      ['customerId=Customer%3Ahome', [transfer]],
      ['customerId=Customer:me', [received]],
      ['platformCustomerId=platform-a', [quoted, executed, toUma]],
      ['senderAccountIdentifier=ExternalAccount%3Ain', [transfer]],
      ['senderAccountIdentifier=%24sender%40sandbox.example', [received]],
      ['receiverAccountIdentifier=ExternalAccount:out', [executed]],
      ['receiverAccountIdentifier=$you@there.example', [toUma]],
      ['receiverAccountIdentifier=$me@home.example', [received]],
      ['receiverAccountIdentifier=InternalAccount:me-USD', [received]],
      ['type=INCOMING', [transfer, received]],
      ['type=OUTGOING', [quoted, executed, toUma]],
      ['status=COMPLETED', [transfer]],
      ['status=SENT', [executed]],
      ['status=REJECTED', []],
      [`reference=${reconciliationInstructions.reference}`, [quoted]],
      ['type=OUTGOING&status=PENDING&customerId=Customer:a', [quoted, toUma]],
      ['customerId=Customer:nobody', []],
    ];
    for (const [query, ids] of cases) expect({ query, ids: await found(sandbox, query) }).toEqual({ query, ids });
  });

  test('dates are inclusive, to the millisecond, in any zone', async () => {
    const sandbox = await sandboxForTest();
    const ids = await transfers(sandbox, 5, 1000);
    const second = '2026-01-01T00:00:01.000Z';
    const fourth = '2026-01-01T00:00:03.000Z';
    expect(await found(sandbox, `startDate=${second}&endDate=${fourth}`)).toEqual(ids.slice(1, 4));
    expect(await found(sandbox, `startDate=2026-01-01T02:00:01%2B02:00&endDate=2025-12-31T19:00:03-05:00`)).toEqual(
      ids.slice(1, 4),
    );
    expect(await found(sandbox, 'startDate=2026-01-01T00:00:01.001Z')).toEqual(ids.slice(2));
    expect(await found(sandbox, 'endDate=2026-01-01T00:00:02.999Z')).toEqual(ids.slice(0, 3));
    expect(await found(sandbox, `startDate=${fourth}&endDate=${second}`)).toEqual([]);
  });

  test('a transaction that is CREATED is not found by the reference that it does not show yet', async () => {
    const sandbox = await sandboxForTest();
    const { body } = await sandbox.quote(toAccount('ExternalAccount:007'));
    sandbox.clock.advance(30_000);
    const { reference } = (await sandbox.transaction(body.transactionId)).reconciliationInstructions;
    expect(await found(sandbox, `reference=${reference}`)).toHaveLength(1);
    await sandbox.control('POST', 'reset');
    await sandbox.quote(toAccount('ExternalAccount:007'));
    expect(await found(sandbox, `reference=${reference}`)).toEqual([]);
  });
});

describe('order and pages', () => {
  test('newest first by default, oldest first if asked, also within one millisecond; a last page may be full', async () => {
    const sandbox = await sandboxForTest();
    const ids = await transfers(sandbox, 9);
    expect(await paged(sandbox, 'limit=3&sortOrder=asc')).toEqual(ids);
    expect(await paged(sandbox, 'limit=3')).toEqual(ids.toReversed());
    expect(await paged(sandbox, 'limit=3&sortOrder=desc')).toEqual(ids.toReversed());
    expect(ids.toSorted()).toEqual(ids);
  });

  test('20 on a page by default, 100 at most', async () => {
    const sandbox = await sandboxForTest();
    await transfers(sandbox, 101);
    const page = async (query: string): Promise<WireBody> => (await sandbox.get(`/transactions${query}`)).body;
    expect((await page('')).data).toHaveLength(20);
    expect(await page('?limit=100')).toMatchObject({ hasMore: true, totalCount: 101, data: { length: 100 } });
    expect(await page('?limit=1')).toMatchObject({ hasMore: true, data: { length: 1 } });
  });

  test.each(['asc', 'desc'])(
    'no transaction of a filter is seen twice or missed while others arrive, %s',
    async (sortOrder) => {
      const sandbox = await sandboxForTest();
      const before = await transfers(sandbox, 10);
      const during: string[] = [];
      const seen = await paged(sandbox, `limit=3&type=INCOMING&sortOrder=${sortOrder}`, async () => {
        await sandbox.quote();
        if (during.length < 4) during.push(...(await transfers(sandbox, 2)));
      });
      expect(seen).toEqual(sortOrder === 'asc' ? [...before, ...during] : before.toReversed());
    },
  );

  test('a cursor goes with any limit, but only with the filters that it was issued for', async () => {
    const sandbox = await sandboxForTest();
    await transfers(sandbox, 3);
    const { nextCursor } = (await sandbox.get('/transactions?limit=1&type=INCOMING')).body;
    const next = async (query: string): Promise<number> =>
      (await sandbox.get(`/transactions?cursor=${nextCursor}${query}`)).status;
    expect(await next('&type=INCOMING&limit=50&sortOrder=desc')).toBe(200);
    expect(await next('')).toBe(400);
    expect(await next('&type=OUTGOING')).toBe(400);
    expect(await next('&type=INCOMING&sortOrder=asc')).toBe(400);
    await sandbox.control('POST', 'reset');
    expect(await next('&type=INCOMING')).toBe(400);
  });

  test('a cursor that was not issued is refused', async () => {
    const sandbox = await sandboxForTest();
    await transfers(sandbox, 3);
    const { nextCursor } = (await sandbox.get('/transactions?limit=1')).body;
    for (const cursor of ['x', 'a.b', `${nextCursor}x`, nextCursor.slice(1), `x${nextCursor}`, `${nextCursor}.`]) {
      const refused = await sandbox.get(`/transactions?cursor=${cursor}`);
      expect(refused).toMatchObject({ status: 400, body: { code: 'INVALID_INPUT' } });
    }
  });
});
