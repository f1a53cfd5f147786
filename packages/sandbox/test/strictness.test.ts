import { describe, expect, test } from 'vitest';
import { raw, rawRequest } from './raw-requests.ts';
import { ANY_STRING, quoteRequest, sandboxForTest, type Fields } from './support.ts';

const TRANSFER = {
  source: { accountId: 'ExternalAccount:a' },
  destination: { accountId: 'InternalAccount:b' },
  amount: 5,
};
const RECEIVE = {
  senderUmaAddress: '$s@x.example',
  receivingCurrencyCode: 'USD',
  receivingCurrencyAmount: 5,
  customerId: 'Customer:c',
};

describe('bodies that the interface does not allow are 400', () => {
  const withAmount = (name: string, literal: string, fields: Fields): string => {
    return JSON.stringify({ ...fields, [name]: undefined }).replace(/}$/, `,"${name}":${literal}}`);
  };
  const badNumbers = '0 -1 1.5 1.05e1 0.0 9223372036854775808 1e19 1e-1 "5" null true [] {}'.split(' ');
  const cases: [string, string, unknown][] = [
    ...badNumbers.map((literal): [string, string, unknown] => [
      `lockedCurrencyAmount ${literal}`,
      '/quotes',
      withAmount('lockedCurrencyAmount', literal, quoteRequest()),
    ]),
    [
      'lockedCurrencyAmount above the limit',
      '/quotes',
      withAmount('lockedCurrencyAmount', '9000000000000001', quoteRequest()),
    ],
    ...badNumbers.map((literal): [string, string, unknown] => [
      `amount ${literal}`,
      '/transfer-in',
      withAmount('amount', literal, TRANSFER),
    ]),
    ...badNumbers.map((literal): [string, string, unknown] => [
      `receivingCurrencyAmount ${literal}`,
      '/sandbox/uma/receive',
      withAmount('receivingCurrencyAmount', literal, RECEIVE),
    ]),
    ...['source', 'destination', 'lockedCurrencySide', 'lockedCurrencyAmount'].map(
      (name): [string, string, unknown] => [`a quote without ${name}`, '/quotes', quoteRequest({ [name]: undefined })],
    ),
    ...['source', 'destination'].map((name): [string, string, unknown] => [
      `a transfer-in without ${name}`,
      '/transfer-in',
      { ...TRANSFER, [name]: undefined },
    ]),
    ...['senderUmaAddress', 'receivingCurrencyCode', 'receivingCurrencyAmount', 'customerId'].map(
      (name): [string, string, unknown] => [
        `a UMA payment without ${name}`,
        '/sandbox/uma/receive',
        { ...RECEIVE, [name]: undefined },
      ],
    ),
    ['an unknown side', '/quotes', quoteRequest({ lockedCurrencySide: 'sending' })],
    ['an unknown purpose', '/quotes', quoteRequest({ purposeOfPayment: 'FUN' })],
    [
      'an unknown sourceType',
      '/quotes',
      quoteRequest({ source: { sourceType: 'CARD', accountId: 'InternalAccount:a' } }),
    ],
    [
      'an unknown destinationType',
      '/quotes',
      quoteRequest({ destination: { destinationType: 'X', accountId: 'InternalAccount:b' } }),
    ],
    ['an id of another kind', '/quotes', quoteRequest({ source: { sourceType: 'ACCOUNT', accountId: 'Customer:a' } })],
    ['an id without its prefix', '/quotes', quoteRequest({ source: { sourceType: 'ACCOUNT', accountId: 'a' } })],
    ['an empty id', '/quotes', quoteRequest({ source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:' } })],
    ['a lookup id of another kind', '/quotes', quoteRequest({ lookupId: 'Quote:1' })],
    [
      'the same account on both sides',
      '/quotes',
      quoteRequest({ destination: { destinationType: 'ACCOUNT', accountId: 'InternalAccount:a' } }),
    ],
    ['a flag that is no boolean', '/quotes', quoteRequest({ immediatelyExecute: 'true' })],
    ['a description that is no string', '/quotes', quoteRequest({ description: 5 })],
    ['an optional field that is null', '/quotes', quoteRequest({ description: null })],
    ['senderCustomerInfo with a number', '/quotes', quoteRequest({ senderCustomerInfo: { AGE: 5 } })],
    ['senderCustomerInfo that is a number', '/quotes', quoteRequest({ senderCustomerInfo: 5 })],
    ['an unknown field', '/quotes', quoteRequest({ colour: 'red' })],
    [
      'a transfer-in from an internal account',
      '/transfer-in',
      { ...TRANSFER, source: { accountId: 'InternalAccount:a' } },
    ],
    [
      'a transfer-in to an external account',
      '/transfer-in',
      { ...TRANSFER, destination: { accountId: 'ExternalAccount:b' } },
    ],
    ['an unknown currency', '/sandbox/uma/receive', { ...RECEIVE, receivingCurrencyCode: 'XXX' }],
    ['an address that is none', '/sandbox/uma/receive', { ...RECEIVE, senderUmaAddress: 'someone' }],
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
      expect({ name, status, error }).toMatchObject({
        name,
        status: 400,
        error: {
          status: 400,
          code: 'INVALID_INPUT',
          message: ANY_STRING,
          details: { problems: expect.any(Array) as unknown },
        },
      });
    }
    expect((await sandbox.books()).transactions).toBe(0);
  });

  test('bytes that are not UTF-8 are 400', async () => {
    const sandbox = await sandboxForTest();
    const [before = '', after = ''] = JSON.stringify(quoteRequest({ description: '@' })).split('@');
    const body = Buffer.concat([Buffer.from(before), Buffer.from([0xff, 0xfe]), Buffer.from(after)]);
    expect(await raw(sandbox, rawRequest('POST', '/2025-10-13/quotes', [], body))).toMatch(/^HTTP\/1.1 400 /);
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
  const bodyOf = (fields: Fields, name: string): string =>
    JSON.stringify({ ...fields, [name]: 12321 }).replace('12321', literal);
  const transfer = await sandbox.post('/transfer-in', bodyOf(TRANSFER, 'amount'));
  expect(transfer).toMatchObject({ status: 201, body: { receivedAmount: { amount: 5 } } });
  const quote = await sandbox.post('/quotes', bodyOf(quoteRequest(), 'lockedCurrencyAmount'));
  expect(quote).toMatchObject({ status: 201, body: { totalSendingAmount: 5 } });
  const received = await sandbox.post('/sandbox/uma/receive', bodyOf(RECEIVE, 'receivingCurrencyAmount'));
  expect(received).toMatchObject({ status: 200, body: { receivedAmount: { amount: 5 } } });
});

test('query parameters that the interface does not allow are 400', async () => {
  const sandbox = await sandboxForTest();
  const queries = [
    ...['0', '101', '-1', '1.5', '1e1', 'x', '+5', '007', '', '99999999999999999999'].map((limit) => `limit=${limit}`),
    ...['status=completed', 'status=', 'type=BOTH', 'sortOrder=up'],
    ...[
      '2026-01-01',
      'yesterday',
      '2026-02-30T00:00:00Z',
      '2026-01-01T25:00:00Z',
      '2026-01-01T00:00:00',
      '1767225600000',
    ].flatMap((date) => [`startDate=${date}`, `endDate=${date}`]),
    ...['colour=red', 'Limit=5', 'limit=5&limit=5', 'customerId=%zz', '%ff=1', 'limit', '=', 'customerId='],
  ];
  for (const query of queries) {
    const { status, body } = await sandbox.get(`/transactions?${query}`);
    expect({ query, status, body }).toMatchObject({ query, status: 400, body: { code: 'INVALID_INPUT' } });
  }
});
