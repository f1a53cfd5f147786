import { describe, expect, test } from 'vitest';
import { ANY_STRING, quoteRequest, RECEIVE, sandboxForTest, toAccount, TRANSFER, type Fields } from './support.ts';

const AMOUNTS: readonly (readonly [path: string, amount: string, fields: Fields])[] = [
  ['/quotes', 'lockedCurrencyAmount', quoteRequest()],
  ['/transfer-in', 'amount', TRANSFER],
  ['/sandbox/uma/receive', 'receivingCurrencyAmount', RECEIVE],
];

/** The fields as JSON, with the amount as it is written here. */
const withAmount = (name: string, literal: string, fields: Fields): string =>
  JSON.stringify({ ...fields, [name]: undefined }).replace(/}$/, `,"${name}":${literal}}`);

type Case = [name: string, path: string, body: unknown];

/** A request for each change of its usual fields. */
const changed = (path: string, usual: Fields, changes: Record<string, Fields>): Case[] =>
  Object.entries(changes).map(([name, fields]) => [name, path, { ...usual, ...fields }]);

const without = (...names: string[]): Record<string, Fields> =>
  Object.fromEntries(names.map((name) => [`without ${name}`, { [name]: undefined }]));

describe('bodies that the interface does not allow are 400', () => {
  const badNumbers = '0 -1 1.5 1.05e1 0.0 9223372036854775808 1e19 1e-1 "5" null true [] {}'.split(' ');
  const account = (accountId: string): Fields => ({ source: { sourceType: 'ACCOUNT', accountId } });
  const quotes: Record<string, Fields> = {
    ...without('source', 'destination', 'lockedCurrencySide', 'lockedCurrencyAmount'),
    'an unknown side': { lockedCurrencySide: 'sending' },
    'an unknown purpose': { purposeOfPayment: 'FUN' },
    'an unknown sourceType': { source: { sourceType: 'CARD', accountId: 'InternalAccount:a' } },
    'an unknown destinationType': { destination: { destinationType: 'X', accountId: 'InternalAccount:b' } },
    'an id of another kind': account('Customer:a'),
    'an id without its prefix': account('a'),
    'an empty id': account('InternalAccount:'),
    'a lookup id of another kind': { lookupId: 'Quote:1' },
    'the same account on both sides': toAccount('InternalAccount:a'),
    'a flag that is no boolean': { immediatelyExecute: 'true' },
    'a description that is no string': { description: 5 },
    'an optional field that is null': { description: null },
    'senderCustomerInfo with a number': { senderCustomerInfo: { AGE: 5 } },
    'senderCustomerInfo that is a number': { senderCustomerInfo: 5 },
    'an unknown field': { colour: 'red' },
  };
  const transfers: Record<string, Fields> = {
    ...without('source', 'destination'),
    'from an internal account': { source: { accountId: 'InternalAccount:a' } },
    'to an external account': { destination: { accountId: 'ExternalAccount:b' } },
  };
  const received: Record<string, Fields> = {
    ...without(...Object.keys(RECEIVE)),
    'an unknown currency': { receivingCurrencyCode: 'XXX' },
    'an address that is none': { senderUmaAddress: 'someone' },
  };
  const cases: Case[] = [
    ...AMOUNTS.flatMap(([path, name, fields]) =>
      badNumbers.map((literal): Case => [literal, path, withAmount(name, literal, fields)]),
    ),
    ['an amount above the limit', '/quotes', quoteRequest({ lockedCurrencyAmount: 9_000_000_000_000_001 })],
    ...changed('/quotes', quoteRequest(), quotes),
    ...changed('/transfer-in', TRANSFER, transfers),
    ...changed('/sandbox/uma/receive', RECEIVE, received),
    ['malformed JSON', '/transfer-in', '{"source":'],
    ['two JSON values', '/transfer-in', '{}{}'],
    ['an array', '/transfer-in', '[]'],
    ['a string', '/transfer-in', '"x"'],
    ['a number', '/transfer-in', '5'],
    ['no body', '/transfer-in', undefined],
    ['a byte order mark', '/transfer-in', `\uFEFF${JSON.stringify(TRANSFER)}`],
    ['nesting without end', '/transfer-in', '['.repeat(100_000)],
    ['a query on a POST', '/transfer-in?limit=1', TRANSFER],
  ];

  test('each of them, and none has an effect', async () => {
    const sandbox = await sandboxForTest();
    for (const [name, path, body] of cases) {
      const { status, body: error } = await sandbox.post(path, body);
      const details = { problems: expect.any(Array) as unknown };
      const invalid = { status: 400, code: 'INVALID_INPUT', message: ANY_STRING, details };
      expect({ name, status, error }).toMatchObject({ name, status: 400, error: invalid });
    }
    expect((await sandbox.books()).transactions).toBe(0);
  });

  test('bytes that are not UTF-8 are 400', async () => {
    const sandbox = await sandboxForTest();
    const [before = '', after = ''] = JSON.stringify(quoteRequest({ description: '@' })).split('@');
    const body = Buffer.concat([Buffer.from(before), Buffer.from([0xff, 0xfe]), Buffer.from(after)]);
    expect(await sandbox.post('/quotes', body)).toMatchObject({ status: 400 });
  });

  test('a reason of a rejection must be a string', async () => {
    const sandbox = await sandboxForTest();
    const { body } = await sandbox.receive();
    for (const bad of [{ reason: 5 }, { why: 'x' }, [], 'null']) {
      expect((await sandbox.post(`/transactions/${body.id}/reject`, bad)).status).toBe(400);
    }
  });
});

test.each(['5.0', '0.5e1', '50e-1'])('the amount %s is the integer 5, as JSON Schema says', async (literal) => {
  const sandbox = await sandboxForTest();
  const answers = await Promise.all(
    AMOUNTS.map(([path, name, fields]) => sandbox.post(path, withAmount(name, literal, fields))),
  );
  expect(answers).toMatchObject([
    { status: 201, body: { totalSendingAmount: 5 } },
    { status: 201, body: { receivedAmount: { amount: 5 } } },
    { status: 200, body: { receivedAmount: { amount: 5 } } },
  ]);
});

test('query parameters that the interface does not allow are 400', async () => {
  const sandbox = await sandboxForTest();
  const limits = '0 101 -1 1.5 1e1 x +5 007 99999999999999999999'.split(' ');
  const dates = '2026-01-01 yesterday 2026-02-30T00:00:00Z 2026-01-01T25:00:00Z 2026-01-01T00:00:00 1767225600000';
  const queries = [
    ...['', ...limits].map((limit) => `limit=${limit}`),
    ...['status=completed', 'status=', 'type=BOTH', 'sortOrder=up'],
    ...dates.split(' ').flatMap((date) => [`startDate=${date}`, `endDate=${date}`]),
    ...['colour=red', 'Limit=5', 'limit=5&limit=5', 'customerId=%zz', '%ff=1', 'limit', '=', 'customerId='],
  ];
  for (const query of queries) {
    const { status, body } = await sandbox.get(`/transactions?${query}`);
    expect({ query, status, body }).toMatchObject({ query, status: 400, body: { code: 'INVALID_INPUT' } });
  }
});
