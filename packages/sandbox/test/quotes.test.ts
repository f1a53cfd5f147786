import { describe, expect, test } from 'vitest';
import {
  int64Of,
  isJsonObject,
  isRawNumber,
  parseLossless,
  type JsonObject,
} from 'payment-processor-contract/lossless-json';
import type { AccountSeed } from '../src/state.ts';
import { ANY_STRING, sandboxForTest, toAccount, type Answer, type Fields } from './support.ts';

const ACCOUNTS: AccountSeed[] = [
  { id: 'InternalAccount:usd' },
  { id: 'ExternalAccount:usd' },
  ...['EUR', 'MXN', 'INR', 'BTC', 'USDC', 'JPY'].flatMap((currency) => [
    { id: `InternalAccount:${currency}`, currency },
    { id: `ExternalAccount:${currency}`, currency },
  ]),
];

function between(sourceId: string, destinationId: string): Fields {
  return { source: { sourceType: 'ACCOUNT', accountId: sourceId }, ...toAccount(destinationId) };
}

function lossless(answer: Answer): JsonObject {
  const value = parseLossless(answer.text);
  if (!isJsonObject(value)) throw new Error('not an object');
  return value;
}

describe('the fields of a quote', () => {
  test('are all there, and tell source, destination, currencies, times and transaction', async () => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    const { status, body } = await sandbox.quote(between('InternalAccount:usd', 'ExternalAccount:MXN'));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: expect.stringMatching(/^Quote:./) as unknown,
      status: 'PENDING',
      createdAt: '2026-01-01T00:00:00.000Z',
      expiresAt: '2026-01-01T00:01:00.000Z',
      source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:usd', customerId: 'Customer:usd' },
      destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:MXN' },
      sendingCurrency: { code: 'USD', name: 'United States Dollar', symbol: '$', decimals: 2 },
      receivingCurrency: { code: 'MXN', decimals: 2 },
      totalSendingAmount: 10_000,
      transactionId: expect.stringMatching(/^Transaction:./) as unknown,
    });
    const ours = ['FixedFee', 'Multiplier', 'VariableFeeAmount', 'VariableFeeRate'].map((name) => `serviceApi${name}`);
    const rates = ['counterpartyFixedFee', 'counterpartyMultiplier', ...ours];
    expect(Object.keys(body.rateDetails).sort()).toEqual(rates);
    expect(Object.keys(body.sendingCurrency)).toEqual(['code', 'name', 'symbol', 'decimals']);
    expect(body).not.toHaveProperty('paymentInstructions');
  });

  test('and of its transaction show the quote, both amounts, fees and rate', async () => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    const fields = {
      ...between('InternalAccount:usd', 'ExternalAccount:MXN'),
      description: 'rent',
      purposeOfPayment: 'GIFT',
    };
    const { body: quote } = await sandbox.quote(fields);
    expect(await sandbox.transaction(quote.transactionId)).toMatchObject({
      type: 'OUTGOING',
      status: 'PENDING',
      quoteId: quote.id,
      description: 'rent',
      sentAmount: { amount: quote.totalSendingAmount, currency: { code: 'USD' } },
      receivedAmount: { amount: quote.totalReceivingAmount, currency: { code: 'MXN' } },
      exchangeRate: quote.exchangeRate,
      fees: quote.feesIncluded,
      source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:usd', currency: 'USD' },
      destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:MXN', currency: 'MXN' },
      rateDetails: { serviceApiFixedFee: 10, serviceApiVariableFeeAmount: 25 },
    });
  });

  test('exchangeRate is a decimal with more digits than a double holds', async () => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    const { exchangeRate } = lossless(await sandbox.quote(between('InternalAccount:EUR', 'ExternalAccount:BTC')));
    const text = isRawNumber(exchangeRate) ? exchangeRate.rawJSON : '';
    expect(text).toMatch(/^\d+\.\d{18}$/);
    expect(String(Number(text))).not.toBe(text);
  });
});

describe('amounts', () => {
  test.each([
    ['usd', 'usd', 'SENDING'],
    ['usd', 'usd', 'RECEIVING'],
    ['usd', 'MXN', 'SENDING'],
    ['MXN', 'usd', 'RECEIVING'],
    ['EUR', 'BTC', 'SENDING'],
    ['BTC', 'JPY', 'RECEIVING'],
    ['USDC', 'EUR', 'SENDING'],
  ])('from %s to %s keep the locked %s side, and the rate explains the other', async (from, to, lockedCurrencySide) => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    for (const lockedCurrencyAmount of [100_000_000, 12_345_678_901]) {
      const { body } = await sandbox.quote({
        ...between(`InternalAccount:${from}`, `ExternalAccount:${to}`),
        lockedCurrencySide,
        lockedCurrencyAmount,
      });
      const locked = lockedCurrencySide === 'SENDING' ? body.totalSendingAmount : body.totalReceivingAmount;
      expect(locked).toBe(lockedCurrencyAmount);
      expect(body.feesIncluded).toBeGreaterThan(0);
      const sent = (body.totalSendingAmount - body.feesIncluded) / 10 ** body.sendingCurrency.decimals;
      const received = body.totalReceivingAmount / 10 ** body.receivingCurrency.decimals;
      expect(Math.abs(sent - received * body.exchangeRate) / sent).toBeLessThan(1e-3);
      const { serviceApiFixedFee, serviceApiVariableFeeAmount } = body.rateDetails;
      expect(body.feesIncluded).toBe(serviceApiFixedFee + serviceApiVariableFeeAmount);
    }
  });

  test('the largest quote is taken and covered by the starting balance, with every digit', async () => {
    const sandbox = await sandboxForTest();
    const text = JSON.stringify({
      source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:a' },
      ...toAccount('ExternalAccount:b'),
      lockedCurrencySide: 'RECEIVING',
    }).replace(/}$/, ',"lockedCurrencyAmount":9000000000000000,"immediatelyExecute":true}');
    const quote = await sandbox.post('/quotes', text);
    expect(quote.status).toBe(201);
    expect(int64Of(lossless(quote).totalSendingAmount)).toBe(9_022_500_000_000_000n);
  });

  test('a transfer-in keeps an amount that a double does not hold', async () => {
    const sandbox = await sandboxForTest();
    const body =
      '{"source":{"accountId":"ExternalAccount:a"},"destination":{"accountId":"InternalAccount:b"},"amount":9223372036854775807}';
    expect((await sandbox.post('/transfer-in', body)).text).toContain('"amount":9223372036854775807,');
  });

  test('one of the smallest unit can be sent in one currency; too small or too large to be converted is refused', async () => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    expect((await sandbox.quote({ lockedCurrencyAmount: 1 })).body).toMatchObject({
      totalReceivingAmount: 1,
      feesIncluded: 0,
    });
    const tooSmall = { ...between('InternalAccount:MXN', 'ExternalAccount:usd'), lockedCurrencyAmount: 1 };
    const tooLarge = { ...between('InternalAccount:usd', 'ExternalAccount:USDC'), lockedCurrencyAmount: 9e15 };
    for (const fields of [tooSmall, tooLarge]) expect((await sandbox.quote(fields)).status).toBe(400);
  });
});

describe('funding', () => {
  test.each([
    ['usd', 'US_ACCOUNT', 'accountNumber accountType bankName referenceCode routingNumber'],
    ['BTC', 'SPARK_WALLET', 'accountType address invoice'],
  ])('a quote from an external account in %s says how to fund it: %s', async (currency, accountType, names) => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    const fields = between(`ExternalAccount:${currency}`, 'InternalAccount:usd');
    const { body } = await sandbox.quote({ ...fields, lockedCurrencyAmount: 500_000 });
    expect(body.paymentInstructions).toMatchObject([{ accountType }]);
    expect(Object.keys(body.paymentInstructions[0]).sort().join(' ')).toBe(names);
  });
});

describe('execution', () => {
  test('answers the quote as PROCESSING; a second one is a conflict', async () => {
    const sandbox = await sandboxForTest();
    const { body: quote } = await sandbox.quote();
    const path = `/quotes/${encodeURIComponent(quote.id)}/execute`;
    const executed = await sandbox.post(path);
    expect(executed).toMatchObject({ status: 200, body: { ...quote, status: 'PROCESSING' } });
    expect(await sandbox.post(path)).toMatchObject({ status: 409, body: { status: 409, code: 'CONFLICT' } });
    expect((await sandbox.effects()).quotes).toEqual({ [quote.id]: { executeCalls: 2, executions: 1 } });
  });

  test('with immediatelyExecute happens at creation, for internal accounts and those with direct pull alone', async () => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    const now = { immediatelyExecute: true };
    const internal = await sandbox.quote({ ...between('InternalAccount:MXN', 'ExternalAccount:usd'), ...now });
    expect(internal).toMatchObject({ status: 201, body: { status: 'PROCESSING' } });
    expect((await sandbox.transaction(internal.body.transactionId)).status).toBe('PROCESSING');
    expect((await sandbox.effects()).quotes).toEqual({ [internal.body.id]: { executeCalls: 1, executions: 1 } });
    for (const [currency, status] of [
      ['usd', 201],
      ['EUR', 400],
    ] as const) {
      const fields = between(`ExternalAccount:${currency}`, 'InternalAccount:usd');
      expect(await sandbox.quote({ ...fields, ...now })).toMatchObject({ status });
    }
  });

  test('needs the balance; the quote does not', async () => {
    const sandbox = await sandboxForTest({ accounts: [{ id: 'InternalAccount:a', balance: 9999n }] });
    const { status, body: quote } = await sandbox.quote();
    expect(status).toBe(201);
    const path = `/quotes/${quote.id}/execute`;
    for (const refused of [await sandbox.post(path), await sandbox.quote({ immediatelyExecute: true })])
      expect(refused).toMatchObject({ status: 400, body: { code: 'INSUFFICIENT_BALANCE' } });
    await sandbox.setAccounts({ id: 'InternalAccount:a', balance: '10000' });
    expect((await sandbox.post(path)).status).toBe(200);
  });

  test('takes no body but an empty object', async () => {
    const sandbox = await sandboxForTest();
    const { body: quote } = await sandbox.quote();
    expect((await sandbox.post(`/quotes/${quote.id}/execute`, { now: true })).status).toBe(400);
    expect((await sandbox.post(`/quotes/${quote.id}/execute`, {})).status).toBe(200);
  });
});

describe('UMA destinations and purposes', () => {
  const toUma = { destination: { destinationType: 'UMA_ADDRESS', umaAddress: '$you@there.example', currency: 'MXN' } };

  test('need a lookup, and are shown as they were named', async () => {
    const sandbox = await sandboxForTest();
    expect((await sandbox.quote(toUma)).body.details.problems).toMatchObject([{ path: 'lookupId' }]);
    const { body } = await sandbox.quote({ ...toUma, lookupId: 'Lookup:1' });
    expect(body).toMatchObject({
      destination: { destinationType: 'UMA_ADDRESS', umaAddress: '$you@there.example' },
      receivingCurrency: { code: 'MXN' },
    });
    expect(await sandbox.transaction(body.transactionId)).toMatchObject({
      counterpartyInformation: { FULL_NAME: ANY_STRING },
    });
  });

  test('senderCustomerInfo must hold what the lookup asked for, is left out where it asked for nothing, and is for UMA alone', async () => {
    const sandbox = await sandboxForTest();
    await sandbox.control('POST', 'lookups', [
      { id: 'Lookup:asks', requiredPayerDataFields: ['FULL_NAME', 'BIRTH_DATE'] },
      { id: 'Lookup:silent', requiredPayerDataFields: [] },
    ]);
    const status = async (lookupId: string, senderCustomerInfo?: Fields): Promise<number> =>
      (await sandbox.quote({ ...toUma, lookupId, senderCustomerInfo })).status;
    expect(await status('Lookup:asks')).toBe(400);
    expect(await status('Lookup:asks', { FULL_NAME: 'A B' })).toBe(400);
    expect(await status('Lookup:asks', { FULL_NAME: 'A B', BIRTH_DATE: '1990-01-01' })).toBe(201);
    expect(await status('Lookup:silent')).toBe(201);
    expect(await status('Lookup:silent', { FULL_NAME: 'A B' })).toBe(400);
    expect(await status('Lookup:unknown', { FULL_NAME: 'A B' })).toBe(201);
    expect((await sandbox.quote({ senderCustomerInfo: { FULL_NAME: 'A B' } })).status).toBe(400);
  });

  test('purposeOfPayment is required by one geography, and each purpose is known', async () => {
    const sandbox = await sandboxForTest({ accounts: ACCOUNTS });
    const toIndia = between('InternalAccount:usd', 'ExternalAccount:INR');
    expect((await sandbox.quote(toIndia)).status).toBe(400);
    const purposes =
      'GIFT SELF GOODS_OR_SERVICES EDUCATION HEALTH_OR_MEDICAL REAL_ESTATE_PURCHASE TAX_PAYMENT LOAN_PAYMENT UTILITY_BILL DONATION TRAVEL OTHER';
    for (const purposeOfPayment of purposes.split(' ')) {
      expect((await sandbox.quote({ ...toIndia, purposeOfPayment })).status).toBe(201);
    }
  });
});

describe('a simulated UMA payment', () => {
  test('names sender, receiver, customer and counterparty', async () => {
    const sandbox = await sandboxForTest();
    const { status, body } = await sandbox.receive({ receivingCurrencyCode: 'EUR' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      type: 'INCOMING',
      status: 'PENDING',
      customerId: 'Customer:c',
      platformCustomerId: 'platform-c',
      receivedAmount: { amount: 700, currency: { code: 'EUR' } },
      source: { sourceType: 'UMA_ADDRESS', umaAddress: '$sender@sandbox.example', currency: 'EUR' },
      destination: { destinationType: 'ACCOUNT', accountId: 'InternalAccount:c-EUR', currency: 'EUR' },
      counterpartyInformation: { FULL_NAME: ANY_STRING, BIRTH_DATE: '1990-01-01', NATIONALITY: 'US' },
    });
  });

  test('needs a receiver or a customer', async () => {
    const sandbox = await sandboxForTest();
    expect((await sandbox.receive({ customerId: undefined })).status).toBe(400);
    const { body } = await sandbox.receive({ customerId: undefined, receiverUmaAddress: '$me@home.example' });
    expect(body.customerId).toBe('Customer:me');
  });
});
