/** What becomes of each field of a quote or transaction that the service sends. */
import { describe, expect, test } from 'vitest';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import { loadSchema, type RecordSchema } from 'payment-processor-contract/schemas';
import { readQuote, readTransaction } from '../../src/api/wire.ts';

const quote = (text: string) => readQuote(parseLossless(text));
const transaction = (text: string) => readTransaction(parseLossless(text));

const WHOLE_QUOTE = `{
  "id": "Quote:q1", "status": "PENDING", "createdAt": "2026-03-01T12:00:00Z", "expiresAt": "2026-03-01T12:05:00Z",
  "source": {"sourceType": "ACCOUNT", "accountId": "InternalAccount:i1", "customerId": "Customer:c1"},
  "destination": {"destinationType": "ACCOUNT", "accountId": "ExternalAccount:e1"},
  "sendingCurrency": {"code": "USD", "name": "US dollar", "symbol": "$", "decimals": 2},
  "receivingCurrency": {"code": "BTC", "name": "Bitcoin", "symbol": "₿", "decimals": 8},
  "totalSendingAmount": 9007199254740993, "totalReceivingAmount": -1, "exchangeRate": 0.000012340, "feesIncluded": 0,
  "transactionId": "Transaction:t1",
  "paymentInstructions": [
    {"accountType": "US_ACCOUNT", "accountNumber": "1", "routingNumber": "2", "bankName": "B", "referenceCode": "R"},
    {"accountType": "SPARK_WALLET", "address": "a", "invoice": "i"}
  ],
  "rateDetails": {"counterpartyMultiplier": 1.0, "counterpartyFixedFee": 2, "serviceApiMultiplier": 1e-3,
    "serviceApiFixedFee": 0, "serviceApiVariableFeeRate": 0.10, "serviceApiVariableFeeAmount": 30}
}`;

test('every field of a quote is read', () => {
  expect(quote(WHOLE_QUOTE)).toEqual({
    warnings: [],
    value: {
      id: 'Quote:q1',
      status: 'PENDING',
      createdAt: '2026-03-01T12:00:00Z',
      expiresAt: '2026-03-01T12:05:00Z',
      source: {
        sourceType: 'ACCOUNT',
        accountId: 'InternalAccount:i1',
        customerId: 'Customer:c1',
        otherFieldsJson: null,
      },
      destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:e1', otherFieldsJson: null },
      sendingCurrency: { code: 'USD', name: 'US dollar', symbol: '$', decimals: 2, otherFieldsJson: null },
      receivingCurrency: { code: 'BTC', name: 'Bitcoin', symbol: '₿', decimals: 8, otherFieldsJson: null },
      totalSendingAmount: 9007199254740993n,
      totalReceivingAmount: -1n,
      exchangeRate: '0.000012340',
      feesIncluded: 0n,
      transactionId: 'Transaction:t1',
      paymentInstructions: [
        instruction({
          accountType: 'US_ACCOUNT',
          accountNumber: '1',
          routingNumber: '2',
          bankName: 'B',
          referenceCode: 'R',
        }),
        instruction({ accountType: 'SPARK_WALLET', address: 'a', invoice: 'i' }),
      ],
      rateDetails: {
        counterpartyMultiplier: '1.0',
        counterpartyFixedFee: '2',
        serviceApiMultiplier: '1e-3',
        serviceApiFixedFee: '0',
        serviceApiVariableFeeRate: '0.10',
        serviceApiVariableFeeAmount: '30',
        otherFieldsJson: null,
      },
      otherFieldsJson: null,
    },
  });
});

test('every field of a transaction is read', () => {
  const text = `{
    "id": "Transaction:t1", "status": "FAILED", "type": "INCOMING",
    "destination": {"destinationType": "ACCOUNT", "accountId": "InternalAccount:i1", "currency": "USD"},
    "customerId": "Customer:c1", "platformCustomerId": "p1",
    "receivedAmount": {"amount": 9223372036854775807, "currency": {"code": "USD", "name": "n", "symbol": "s", "decimals": 2}},
    "settledAt": "s", "createdAt": "c", "updatedAt": "u", "description": "memo",
    "counterpartyInformation": {"FULL_NAME": "A", "BIRTH_DATE": "B", "NATIONALITY": "C"},
    "source": {"sourceType": "ACCOUNT", "accountId": "ExternalAccount:e1", "currency": "EUR"},
    "reconciliationInstructions": {"reference": "r"},
    "rateDetails": {"serviceApiMultiplier": 1},
    "failureReason": "QUOTE_EXPIRED"
  }`;
  expect(transaction(text)).toEqual({
    warnings: [],
    value: {
      id: 'Transaction:t1',
      status: 'FAILED',
      type: 'INCOMING',
      destination: {
        destinationType: 'ACCOUNT',
        accountId: 'InternalAccount:i1',
        currency: 'USD',
        otherFieldsJson: null,
      },
      customerId: 'Customer:c1',
      platformCustomerId: 'p1',
      receivedAmount: {
        amount: 9223372036854775807n,
        currency: { code: 'USD', name: 'n', symbol: 's', decimals: 2, otherFieldsJson: null },
        otherFieldsJson: null,
      },
      settledAt: 's',
      createdAt: 'c',
      updatedAt: 'u',
      description: 'memo',
      counterpartyInformation: { FULL_NAME: 'A', BIRTH_DATE: 'B', NATIONALITY: 'C' },
      source: { sourceType: 'ACCOUNT', accountId: 'ExternalAccount:e1', currency: 'EUR', otherFieldsJson: null },
      reconciliationInstructions: { reference: 'r', otherFieldsJson: null },
      rateDetails: {
        counterpartyMultiplier: null,
        counterpartyFixedFee: null,
        serviceApiMultiplier: '1',
        serviceApiFixedFee: null,
        serviceApiVariableFeeRate: null,
        serviceApiVariableFeeAmount: null,
        otherFieldsJson: null,
      },
      failureReason: 'QUOTE_EXPIRED',
      otherFieldsJson: null,
    },
  });
});

test('what is read has the very fields of the schemas, in every record', () => {
  expectFieldsOf(loadSchema('Quote'), quote(WHOLE_QUOTE)?.value);
  expectFieldsOf(
    loadSchema('Transaction'),
    transaction(
      '{"id":"T","destination":{},"source":{},"receivedAmount":{"currency":{}},"reconciliationInstructions":{},"rateDetails":{}}',
    )?.value,
  );
});

describe('what the service adds or changes', () => {
  test('new enumeration values pass', () => {
    expect(transaction('{"id":"T","status":"ON_HOLD","type":"SIDEWAYS","failureReason":"MOON"}')?.value).toMatchObject({
      status: 'ON_HOLD',
      type: 'SIDEWAYS',
      failureReason: 'MOON',
    });
  });

  test('unknown fields are kept by the record that they were in, digits and all', () => {
    const read = transaction(
      '{"id":"T","sentAmount":{"amount":12345678901234567890},"source":{"umaAddress":"$a@b"},"receivedAmount":{"currency":{"iso":840}}}',
    );
    expect(read?.value).toMatchObject({
      otherFieldsJson: '{"sentAmount":{"amount":12345678901234567890}}',
      source: { otherFieldsJson: '{"umaAddress":"$a@b"}' },
      receivedAmount: { otherFieldsJson: null, currency: { otherFieldsJson: '{"iso":840}' } },
    });
  });

  test('integers are read however they are written', () => {
    const read = quote(
      '{"id":"Q","totalSendingAmount":9223372036854775807.0,"totalReceivingAmount":1e3,"feesIncluded":-0.0,"sendingCurrency":{"decimals":2.0}}',
    );
    expect(read?.value).toMatchObject({
      totalSendingAmount: 9223372036854775807n,
      totalReceivingAmount: 1000n,
      feesIncluded: 0n,
      sendingCurrency: { decimals: 2, otherFieldsJson: null },
      otherFieldsJson: null,
    });
    expect(read?.warnings.join()).not.toContain('integer');
  });

  test('a field of the wrong type is null, kept as received, and named by its path', () => {
    const read = quote(
      '{"id":"Q","status":5,"totalSendingAmount":"12","feesIncluded":1.5,"exchangeRate":{"n":1},"source":"x","sendingCurrency":{"decimals":2.5},"paymentInstructions":{}}',
    );
    expect(read?.value).toMatchObject({
      status: null,
      totalSendingAmount: null,
      feesIncluded: null,
      exchangeRate: null,
      source: null,
      paymentInstructions: null,
      sendingCurrency: { decimals: null, otherFieldsJson: '{"decimals":2.5}' },
      otherFieldsJson:
        '{"status":5,"source":"x","totalSendingAmount":"12","exchangeRate":{"n":1},"feesIncluded":1.5,"paymentInstructions":{}}',
    });
    expect(read?.warnings).toEqual(
      expect.arrayContaining([
        'status is not text',
        'sendingCurrency.decimals is not a 32-bit integer',
        'totalSendingAmount is not a 64-bit integer',
        'source is not an object',
        'paymentInstructions is not a list',
      ]),
    );
  });

  test('an integer beyond 64 bits is kept aside, not rounded', () => {
    expect(quote('{"id":"Q","totalSendingAmount":9223372036854775808}')?.value).toMatchObject({
      totalSendingAmount: null,
      otherFieldsJson: '{"totalSendingAmount":9223372036854775808}',
    });
  });

  test('required fields that are missing are named, and nothing fails', () => {
    expect(quote('{"id":"Q","status":null}')?.warnings).toContain('status is missing');
    expect(transaction('{"id":"T","type":"INCOMING"}')?.warnings).toContain('receivedAmount is missing');
  });

  test('an outgoing transaction need not have a received amount', () => {
    expect(transaction('{"id":"T","type":"OUTGOING"}')?.warnings).not.toContain('receivedAmount is missing');
  });

  test('counterparty information that is not text is kept aside', () => {
    expect(
      transaction('{"id":"T","counterpartyInformation":{"FULL_NAME":"A","AGE":30,"X":null}}')?.value,
    ).toMatchObject({
      counterpartyInformation: { FULL_NAME: 'A' },
      otherFieldsJson: '{"counterpartyInformation":{"AGE":30,"X":null}}',
    });
  });

  test('names that objects inherit are fields like any other', () => {
    expect(transaction('{"id":"T","__proto__":{"status":"SENT"},"toString":1}')?.value).toMatchObject({
      status: null,
      otherFieldsJson: '{"__proto__":{"status":"SENT"},"toString":1}',
    });
  });
});

describe('payment instructions', () => {
  const first = (text: string) => quote(`{"id":"Q","paymentInstructions":[${text}]}`)?.value.paymentInstructions?.[0];

  test('are read from an object of their own as well', () => {
    expect(first('{"accountOrWalletInfo":{"accountType":"SPARK_WALLET","address":"a","invoice":"i"}}')).toEqual(
      instruction({ accountType: 'SPARK_WALLET', address: 'a', invoice: 'i' }),
    );
  });

  test('keep what is beside and within it', () => {
    expect(first('{"note":1,"accountOrWalletInfo":{"accountType":"IBAN","iban":"DE"}}')).toEqual(
      instruction({ accountType: 'IBAN', otherFieldsJson: '{"note":1,"accountOrWalletInfo":{"iban":"DE"}}' }),
    );
  });

  test('of which both shapes set a field take the inner one and keep the outer', () => {
    expect(first('{"accountType":"outer","bankName":"B","accountOrWalletInfo":{"accountType":"inner"}}')).toEqual(
      instruction({ accountType: 'inner', bankName: 'B', otherFieldsJson: '{"accountType":"outer"}' }),
    );
  });

  test('that are not objects are kept with the whole list', () => {
    expect(quote('{"id":"Q","paymentInstructions":[{"address":"a"},"b"]}')?.value).toMatchObject({
      paymentInstructions: [instruction({ address: 'a' })],
      otherFieldsJson: '{"paymentInstructions":[{"address":"a"},"b"]}',
    });
  });
});

function instruction(fields: Record<string, string>): Record<string, string | null> {
  const names = [
    'accountType',
    'accountNumber',
    'routingNumber',
    'bankName',
    'referenceCode',
    'address',
    'invoice',
    'otherFieldsJson',
  ];
  return { ...Object.fromEntries(names.map((name) => [name, null])), ...fields };
}

/** Compares names of fields at every depth; records that are null are passed over. */
function expectFieldsOf(schema: RecordSchema, record: unknown, known = new Map<string, RecordSchema>()): void {
  known.set(`${schema.namespace}.${schema.name}`, schema);
  expect(Object.keys(record as object).sort()).toEqual(schema.fields.map((field) => field.name).sort());
  for (const field of schema.fields) {
    const value = (record as Record<string, unknown>)[field.name];
    const branches: unknown[] = Array.isArray(field.type) ? field.type : [field.type];
    for (const branch of branches) {
      const isList = typeof branch === 'object' && branch !== null && 'items' in branch;
      const type = isList ? branch.items : branch;
      const nested = typeof type === 'string' ? known.get(type) : isRecord(type) ? type : undefined;
      if (nested === undefined || value === null) continue;
      for (const member of isList ? (value as unknown[]) : [value]) expectFieldsOf(nested, member, known);
    }
  }
}

function isRecord(type: unknown): type is RecordSchema {
  return typeof type === 'object' && type !== null && 'type' in type && type.type === 'record';
}

test('a member of counterpartyInformation keeps its name and value, whatever the name is', () => {
  const read = transaction(
    '{"id":"Transaction:t","counterpartyInformation":{"constructor":"c","toString":"t","$int64":"5","__proto__":"p"}}',
  );
  expect(read?.value.counterpartyInformation).toEqual({ constructor: 'c', toString: 't', $int64: '5' });
  expect(read?.value.otherFieldsJson).toBe('{"counterpartyInformation":{"__proto__":"p"}}');
});

test('a member of counterpartyInformation that is null is kept, which no map of texts can do', () => {
  const read = transaction('{"id": "t", "counterpartyInformation": {"FULL_NAME": "A", "NATIONALITY": null}}');
  expect(read?.value).toMatchObject({
    counterpartyInformation: { FULL_NAME: 'A' },
    otherFieldsJson: '{"counterpartyInformation":{"NATIONALITY":null}}',
  });
  expect(read?.warnings.filter((warning) => warning.includes('counterparty'))).toEqual([]);
});
