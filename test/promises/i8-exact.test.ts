/** Invariant I8: int64 and decimals pass unchanged; fields and enum values that are not known are preserved. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseLossless, stringifyLossless } from 'payment-processor-contract/lossless-json';
import {
  startHostileService,
  type HostileService,
  type RawAnswer,
  type ReceivedRequest,
} from '../support/hostile-service.ts';
import { useStack } from '../support/test-stack.ts';
import { createQuoteOf, transferInOf } from '../support/commands.ts';

const INT64_MAX = 9223372036854775807n;

const TRANSACTION = `{"id":"Transaction:exact","status":"ON_HOLD_FOR_REVIEW","type":"SIDEWAYS",
  "destination":{"destinationType":"MOON_BASE","accountId":"InternalAccount:1","currency":"USD","crater":17.10},
  "customerId":"Customer:1","platformCustomerId":"p1",
  "receivedAmount":{"amount":9223372036854775807,"currency":{"code":"BTC","name":"Bitcoin","symbol":"₿","decimals":8,"minted":true}},
  "createdAt":"2025-10-13T12:34:56.123456789+02:00","updatedAt":"2025-10-13T10:34:56Z","failureReason":"SOLAR_FLARE",
  "counterpartyInformation":{"FULL_NAME":"Jürgen ☂","SHOE_SIZE":"44","NICKNAME":null},
  "reconciliationInstructions":{"reference":"R-1","colour":"blue"},
  "rateDetails":{"serviceApiMultiplier":1.000000000000000000000001,"serviceApiFixedFee":12345678901234567890,"otherFee":0.10},
  "precise":0.1000000000000000055511151231257827,"big":123456789012345678901234567890,"nested":{"list":[1.0,null,"x"]}}`;

const QUOTE = `{"id":"Quote:exact","status":"HALF_DONE","createdAt":"2025-10-13T10:00:00Z","expiresAt":"2999-01-01T00:00:00Z",
  "source":{"sourceType":"ACCOUNT","accountId":"InternalAccount:1","customerId":"Customer:1"},
  "destination":{"destinationType":"ACCOUNT","accountId":"ExternalAccount:1"},
  "sendingCurrency":{"code":"USD","name":"US Dollar","symbol":"$","decimals":2},
  "receivingCurrency":{"code":"BTC","name":"Bitcoin","symbol":"₿","decimals":8},
  "totalSendingAmount":9007199254740993,"totalReceivingAmount":9223372036854775807,
  "exchangeRate":0.00000000123456789012345678900,"feesIncluded":0,"transactionId":"Transaction:of-exact",
  "paymentInstructions":[{"accountType":"SPARK_WALLET","address":"a","invoice":"i"},{"accountType":"PIGEON","loft":"north"}],
  "rateDetails":{"counterpartyMultiplier":1e-7,"counterpartyFixedFee":-0.0,"serviceApiVariableFeeRate":3.50},
  "newField":{"amount":9007199254740993}}`;

let service: HostileService;
const stack = useStack({ name: 'exact' });

function answer(request: ReceivedRequest): RawAnswer | null {
  if (request.method !== 'POST') return null;
  return request.path.endsWith('/quotes') ? { httpStatus: 201, body: QUOTE } : { httpStatus: 200, body: TRANSACTION };
}

beforeAll(async () => {
  service = await startHostileService(answer);
  await stack().startProcessor({ API_BASE_URL: service.baseUrl });
});
afterAll(async () => {
  await service.close();
});

/** Member by member, numbers by their text. */
const sameJson = (text: string | null | undefined): string => stringifyLossless(parseLossless(text ?? 'null'));

test('an int64 goes out with all its digits', async () => {
  await stack().publisher.publish('transfer-in', 'out', transferInOf('out', INT64_MAX));
  await stack().publisher.publish('transfer-in', 'out-json', transferInOf('out-json', 9007199254740993n), {
    contentType: 'json',
  });
  await stack().journal.resultsOfAll(['out', 'out-json']);
  const bodyOf = (key: string) => service.requests.find(({ headers }) => headers['idempotency-key'] === key)?.body;
  expect(bodyOf('out')).toContain('"amount":9223372036854775807}');
  expect(bodyOf('out-json')).toContain('"amount":9007199254740993}');
});

test('a transaction keeps every digit, unknown fields and unknown values', async () => {
  await stack().publisher.publish('transfer-in', 'transaction', transferInOf('transaction'));
  const { value } = await stack().journal.result('transaction');
  expect(value.outcome).toBe('ACCEPTED');
  const transaction = value.transaction;
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
  expect(sameJson(transaction?.otherFieldsJson)).toBe(
    '{"counterpartyInformation":{"NICKNAME":null},"precise":0.1000000000000000055511151231257827,"big":123456789012345678901234567890,"nested":{"list":[1.0,null,"x"]}}',
  );
  await stack().journal.until(() => stack().journal.transactionEvents('Transaction:exact').length > 0, 'its event');
  const [event] = stack().journal.transactionEvents('Transaction:exact');
  expect(event?.value).toMatchObject({ status: 'ON_HOLD_FOR_REVIEW', type: 'SIDEWAYS', failureReason: 'SOLAR_FLARE' });
  expect(event?.value.transaction).toEqual(transaction);
});

test('a quote keeps every digit, unknown fields and unknown values', async () => {
  await stack().publisher.publish('create-quote', 'quote', createQuoteOf('quote', 9_000_000_000_000_000n));
  const { value } = await stack().journal.result('quote');
  expect(value.quote).toMatchObject({
    status: 'HALF_DONE',
    totalSendingAmount: 9007199254740993n,
    totalReceivingAmount: INT64_MAX,
    exchangeRate: '0.00000000123456789012345678900',
    feesIncluded: 0n,
    rateDetails: { counterpartyMultiplier: '1e-7', counterpartyFixedFee: '-0.0', serviceApiVariableFeeRate: '3.50' },
    otherFieldsJson: '{"newField":{"amount":9007199254740993}}',
  });
  expect(
    value.quote?.paymentInstructions?.map(({ accountType, address, otherFieldsJson }) => [
      accountType,
      address,
      otherFieldsJson,
    ]),
  ).toEqual([
    ['SPARK_WALLET', 'a', null],
    ['PIGEON', null, '{"loft":"north"}'],
  ]);
});
