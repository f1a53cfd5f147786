/**
 * Every field and enumeration value of the interface, from the command's topic to the service and back to the results. And invariant
 * I8: int64 and decimals pass unchanged; fields and enum values that are not known are preserved (quotes: test/api/wire.test.ts).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseLossless, stringifyLossless } from 'payment-processor-contract/lossless-json';
import { accountOf, createQuoteOf, transferInOf } from '../support/commands.ts';
import { startHostileService, type HostileService, type ReceivedRequest } from '../support/hostile-service.ts';
import { CLIENT_SECRET, TOKEN_ID } from '../support/sandbox-control.ts';
import { useStack } from '../support/test-stack.ts';
import { ENDPOINTS, ENUMERATIONS } from './interface.ts';
import { WHOLE_QUOTE, WHOLE_TRANSACTION } from './whole-answers.ts';

const stack = useStack({ name: 'values' });
let service: HostileService;

/** What the answer to a key is to say beside the whole answer, or the text to say instead; by key. */
const said = new Map<string, Record<string, unknown> | string>();

const INT64_MAX = 9223372036854775807n;
const UNKNOWN_TRANSACTION = `{"id":"Transaction:exact","status":"ON_HOLD_FOR_REVIEW","type":"SIDEWAYS",
  "destination":{"destinationType":"MOON_BASE","accountId":"InternalAccount:1","currency":"USD","crater":17.10},
  "customerId":"Customer:1","platformCustomerId":"p1",
  "receivedAmount":{"amount":9223372036854775807,"currency":{"code":"BTC","name":"Bitcoin","symbol":"₿","decimals":8,"minted":true}},
  "createdAt":"2025-10-13T12:34:56.123456789+02:00","updatedAt":"2025-10-13T10:34:56Z","failureReason":"SOLAR_FLARE",
  "counterpartyInformation":{"FULL_NAME":"Jürgen ☂","SHOE_SIZE":"44","NICKNAME":null},
  "reconciliationInstructions":{"reference":"R-1","colour":"blue"},
  "rateDetails":{"serviceApiMultiplier":1.000000000000000000000001,"serviceApiFixedFee":12345678901234567890,"otherFee":0.10},
  "precise":0.1000000000000000055511151231257827,"big":123456789012345678901234567890,"nested":{"list":[1.0,null,"x"]}}`;

function answer({ headers, method, path }: ReceivedRequest) {
  if (method !== 'POST') return null;
  const key = String(headers['idempotency-key']);
  const whole = path.includes('/quotes') ? WHOLE_QUOTE : WHOLE_TRANSACTION;
  const more = said.get(key);
  return { httpStatus: 200, body: typeof more === 'string' ? more : JSON.stringify({ ...whole, ...more }) };
}

beforeAll(async () => {
  service = await startHostileService(answer);
  await stack().startProcessor({ API_BASE_URL: service.baseUrl });
});
afterAll(async () => {
  await service.close();
});

const requestOf = (key: string): ReceivedRequest =>
  service.requests.find(({ headers }) => headers['idempotency-key'] === key) as ReceivedRequest;

/** The value at a dotted path; undefined where the path ends early. */
function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, name) => (inner as Record<string, unknown> | null)?.[name], value);
}

describe('requests', () => {
  test('create-quote: every field reaches the service', async () => {
    const fields = {
      ...createQuoteOf('all-fields', 9_000_000_000_000_000n),
      destination: { destinationType: 'UMA_ADDRESS', accountId: 'ExternalAccount:payee-x' },
      lookupId: 'Lookup:1',
      description: 'memo',
      purposeOfPayment: 'GIFT' as const,
      senderCustomerInfo: { FULL_NAME: 'A B', BIRTH_DATE: '1990-01-01' },
    };
    await stack().publisher.publish('create-quote', 'all-fields', fields);
    expect((await stack().journal.result('all-fields')).value.outcome).toBe('ACCEPTED');
    expect(requestOf('all-fields').path).toBe('/2025-10-13/quotes');
    // immediatelyExecute is left out: it is false, as by default.
    expect(JSON.parse(requestOf('all-fields').body)).toEqual({
      ...fields,
      lockedCurrencyAmount: 9_000_000_000_000_000,
    });
  });

  test('create-quote with immediatelyExecute: the quote, and its execution by its id', async () => {
    said.set('now', { id: 'Quote:now', transactionId: 'Transaction:now' });
    said.set('now.execute', { id: 'Quote:now' });
    await stack().publisher.publish('create-quote', 'now', { ...createQuoteOf('now'), immediatelyExecute: true });
    expect((await stack().journal.result('now')).value.outcome).toBe('ACCEPTED');
    expect(requestOf('now').path).toBe('/2025-10-13/quotes');
    expect(requestOf('now.execute').path).toBe('/2025-10-13/quotes/Quote%3Anow/execute');
  });

  test('execute-quote: the quoteId is in the path, and there is no body', async () => {
    await stack().publisher.publish('execute-quote', 'execute', { quoteId: 'Quote:a/b' });
    await stack().journal.result('execute');
    expect(requestOf('execute')).toMatchObject({ path: '/2025-10-13/quotes/Quote%3Aa%2Fb/execute', body: '' });
  });

  test('transfer-in: every field, with the key of the command as the Idempotency-Key', async () => {
    await stack().publisher.publish('transfer-in', 'transfer', transferInOf('transfer', 12_345n));
    await stack().publisher.publish('transfer-in', 'transfer-open', { ...transferInOf('transfer'), amount: null });
    await stack().journal.resultsOfAll(['transfer', 'transfer-open']);
    expect(requestOf('transfer')).toMatchObject({
      path: '/2025-10-13/transfer-in',
      headers: {
        'idempotency-key': 'transfer',
        authorization: `Basic ${Buffer.from(`${TOKEN_ID}:${CLIENT_SECRET}`).toString('base64')}`,
      },
    });
    const accounts = {
      source: { accountId: 'ExternalAccount:payer-x' },
      destination: { accountId: accountOf('transfer') },
    };
    expect(JSON.parse(requestOf('transfer').body)).toEqual({ ...accounts, amount: 12_345 });
    expect(JSON.parse(requestOf('transfer-open').body)).toEqual(accounts);
  });

  test('reject-transaction: the transactionId is in the path, the reason in the body, or neither reason nor field', async () => {
    const transactionId = 'Transaction:t1';
    await stack().publisher.publish('reject-transaction', 'reject', { transactionId, reason: 'not ours' });
    await stack().publisher.publish('reject-transaction', 'reject-plain', { transactionId });
    await stack().journal.resultsOfAll(['reject', 'reject-plain']);
    expect(requestOf('reject').path).toBe('/2025-10-13/transactions/Transaction%3At1/reject');
    expect(JSON.parse(requestOf('reject').body)).toEqual({ reason: 'not ours' });
    expect(['', '{}']).toContain(requestOf('reject-plain').body);
  });

  test('simulate-uma-receive: every field reaches the service', async () => {
    const fields = {
      senderUmaAddress: '$sender@example.com',
      receivingCurrencyCode: 'USD',
      receivingCurrencyAmount: 700n,
      receiverUmaAddress: '$receiver@example.com',
      customerId: 'Customer:1',
    };
    await stack().publisher.publish('simulate-uma-receive', 'simulate', fields);
    await stack().journal.result('simulate');
    expect(requestOf('simulate').path).toBe('/2025-10-13/sandbox/uma/receive');
    expect(JSON.parse(requestOf('simulate').body)).toEqual({ ...fields, receivingCurrencyAmount: 700 });
  });

  test('every endpoint is called with the same credentials, under the version segment', async () => {
    const seen = new Map(service.requests.map(({ headers, method, path }) => [`${method} ${path}`, headers]));
    const shapes = [...seen.keys()].map((shape) => shape.replace('/2025-10-13', '').replace(/\?.*/, ''));
    for (const endpoint of Object.values(ENDPOINTS)) {
      const pattern = new RegExp(`^${endpoint.replace(/\{\w+\}/, '[^/]+')}$`);
      expect(
        shapes.some((shape) => pattern.test(shape)),
        endpoint,
      ).toBe(true);
    }
    expect(new Set([...seen.values()].map((headers) => headers.authorization)).size).toBe(1);
  });

  test('an int64 goes out with all its digits', async () => {
    const { journal, publisher } = stack();
    await publisher.publish('transfer-in', 'out', transferInOf('out', INT64_MAX));
    await publisher.publish('transfer-in', 'out-json', transferInOf('out-json', 9007199254740993n), {
      contentType: 'json',
    });
    await journal.resultsOfAll(['out', 'out-json']);
    expect(requestOf('out').body).toContain('"amount":9223372036854775807}');
    expect(requestOf('out-json').body).toContain('"amount":9007199254740993}');
  });

  test.each(['lockedCurrencySide', 'purposeOfPayment'] as const)('every %s reaches the service', async (field) => {
    const keys = ENUMERATIONS[field].map((value) => `${field}-${value}`);
    for (const [index, key] of keys.entries()) {
      const fields = { ...createQuoteOf(key), [field]: ENUMERATIONS[field][index] };
      await stack().publisher.publish('create-quote', key, fields);
    }
    const results = await stack().journal.resultsOfAll(keys);
    expect(new Set(results.map(({ value }) => value.outcome))).toEqual(new Set(['ACCEPTED']));
    expect(keys.map((key) => at(JSON.parse(requestOf(key).body), field))).toEqual(ENUMERATIONS[field]);
  });

  test.each([
    ['lockedCurrencySide', { lockedCurrencySide: 'BOTH' }],
    ['purposeOfPayment', { purposeOfPayment: 'BRIBE' }],
    ['lockedCurrencyAmount', { lockedCurrencyAmount: 9_000_000_000_000_001 }],
    ['senderCustomerInfo', { senderCustomerInfo: { FULL_NAME: 'A B' } }],
    ['lookupId', { destination: { destinationType: 'UMA_ADDRESS', otherFieldsJson: '{"umaAddress":"$a@b.c"}' } }],
  ])('%s that the interface does not allow is INVALID, and not sent', async (path, change) => {
    const key = `refused-${path}`;
    const fields = { ...createQuoteOf(key), lockedCurrencyAmount: 1, ...change };
    const headers = { 'content-type': 'application/json' };
    await stack().publishRaw('create-quote', { key, value: JSON.stringify(fields), headers });
    const { value } = await stack().journal.result(key);
    expect(value.outcome).toBe('INVALID');
    expect(value.error?.message).toContain(path);
    expect(requestOf(key)).toBeUndefined();
  });

  test('a simulated payment without receiverUmaAddress and customerId is INVALID, with either of them it is sent', async () => {
    const fields = { senderUmaAddress: '$a@b.c', receivingCurrencyCode: 'USD', receivingCurrencyAmount: 1 };
    const headers = { 'content-type': 'application/json' };
    const publish = (key: string, more: object) =>
      stack().publishRaw('simulate-uma-receive', { key, value: JSON.stringify({ ...fields, ...more }), headers });
    await publish('no-receiver', {});
    await publish('receiver-address', { receiverUmaAddress: '$d@e.f' });
    await publish('receiver-customer', { customerId: 'Customer:1' });
    const results = await stack().journal.resultsOfAll(['no-receiver', 'receiver-address', 'receiver-customer']);
    expect(results.map(({ value }) => value.outcome)).toEqual(['INVALID', 'ACCEPTED', 'ACCEPTED']);
  });
});

describe('answers', () => {
  /** Each field below, by its path, as text: a result's numbers may be longs. */
  const leaves = (value: unknown, path = ''): [string, string][] =>
    value === null || typeof value !== 'object'
      ? [[path, String(value)]]
      : Object.entries(value).flatMap(([name, inner]) => leaves(inner, `${path}.${name}`));

  test('the quote of a result has every field of the interface', async () => {
    const { quote } = (await stack().journal.result('all-fields')).value;
    expect(leaves(quote)).toEqual(expect.arrayContaining(leaves(WHOLE_QUOTE)));
    expect(quote?.paymentInstructions?.map(({ accountType }) => accountType)).toEqual(ENUMERATIONS.accountType);
  });

  test('the transaction of a result has every field of the interface', async () => {
    const { transaction } = (await stack().journal.result('transfer')).value;
    expect(leaves(transaction)).toEqual(expect.arrayContaining(leaves(WHOLE_TRANSACTION)));
    expect(Object.keys(transaction?.counterpartyInformation ?? {})).toEqual(ENUMERATIONS.counterpartyKey);
  });

  /** Each value in an answer of its own, all under way at once: it is in the result, and in the first event about its transaction. */
  test.each([
    ['status', ENUMERATIONS.transactionStatus, {}],
    ['type', ENUMERATIONS.transactionType, {}],
    ['failureReason', ENUMERATIONS.failureReason, { status: 'FAILED' }],
  ] as const)('every %s of a transaction is in the result and the event', async (field, values, more) => {
    const keys = values.map((value) => `${field}-${value}`);
    for (const [index, key] of keys.entries()) {
      said.set(key, { id: `Transaction:${key}`, ...more, [field]: values[index] });
      await stack().publisher.publish('transfer-in', key, transferInOf(key));
    }
    const results = await stack().journal.resultsOfAll(keys);
    expect(results.map(({ value }) => value.transaction?.[field])).toEqual(values);
    const eventOf = (key: string) => stack().journal.transactionEvents(`Transaction:${key}`)[0]?.value;
    await stack().journal.until(() => keys.every((key) => eventOf(key) !== undefined), `events of each ${field}`);
    expect(keys.map((key) => eventOf(key)?.[field])).toEqual(values);
    expect(keys.map((key) => eventOf(key)?.previousStatus)).toEqual(values.map(() => null));
  });

  test('every quote status is in the result and a status event', async () => {
    const keys = ENUMERATIONS.quoteStatus.map((status) => `quote-${status}`);
    for (const [index, key] of keys.entries()) {
      const status = ENUMERATIONS.quoteStatus[index];
      said.set(key, { id: `Quote:${key}`, status, transactionId: `Transaction:of-${key}` });
      await stack().publisher.publish('create-quote', key, createQuoteOf(key));
    }
    const results = await stack().journal.resultsOfAll(keys);
    expect(results.map(({ value }) => value.quote?.status)).toEqual(ENUMERATIONS.quoteStatus);
    const eventOf = (key: string) => stack().journal.quoteEvents(`Quote:${key}`)[0]?.value;
    await stack().journal.until(() => keys.every((key) => eventOf(key) !== undefined), 'events of each quote status');
    expect(keys.map((key) => eventOf(key)?.status)).toEqual(ENUMERATIONS.quoteStatus);
  });

  test('a transaction keeps every digit, unknown fields and unknown values, in the result and the event', async () => {
    said.set('exact', UNKNOWN_TRANSACTION);
    await stack().publisher.publish('transfer-in', 'exact', transferInOf('exact'));
    const { outcome, transaction } = (await stack().journal.result('exact')).value;
    expect(outcome).toBe('ACCEPTED');
    expect(transaction).toMatchObject({
      id: 'Transaction:exact',
      status: 'ON_HOLD_FOR_REVIEW',
      type: 'SIDEWAYS',
      failureReason: 'SOLAR_FLARE',
      createdAt: '2025-10-13T12:34:56.123456789+02:00',
      receivedAmount: { amount: INT64_MAX, currency: { code: 'BTC', decimals: 8, otherFieldsJson: '{"minted":true}' } },
      counterpartyInformation: { FULL_NAME: 'Jürgen ☂', SHOE_SIZE: '44' },
      destination: { destinationType: 'MOON_BASE', otherFieldsJson: '{"crater":17.10}' },
      reconciliationInstructions: { reference: 'R-1', otherFieldsJson: '{"colour":"blue"}' },
      rateDetails: {
        serviceApiMultiplier: '1.000000000000000000000001',
        serviceApiFixedFee: '12345678901234567890',
        otherFieldsJson: '{"otherFee":0.10}',
      },
    });
    // Member by member, numbers by their text.
    expect(stringifyLossless(parseLossless(transaction?.otherFieldsJson ?? 'null'))).toBe(
      '{"counterpartyInformation":{"NICKNAME":null},"precise":0.1000000000000000055511151231257827,"big":123456789012345678901234567890,"nested":{"list":[1.0,null,"x"]}}',
    );
    const events = () => stack().journal.transactionEvents('Transaction:exact');
    await stack().journal.until(() => events().length > 0, 'its event');
    expect(events()[0]?.value.transaction).toEqual(transaction);
  });
});
