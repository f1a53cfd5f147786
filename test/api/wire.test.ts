/** What becomes of each field of a quote or transaction that the service sends. */
import { describe, expect, test } from 'vitest';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import { loadSchema, type RecordSchema } from 'payment-processor-contract/schemas';
import { readQuote, readTransaction } from '../../src/api/wire.ts';
import { WHOLE_QUOTE, WHOLE_TRANSACTION } from '../contract/whole-answers.ts';

const quote = (text: string) => readQuote(parseLossless(text));
const transaction = (text: string) => readTransaction(parseLossless(text));

test('what is read has the very fields of the schemas, in every record', () => {
  expectFieldsOf(loadSchema('Quote'), quote(JSON.stringify(WHOLE_QUOTE))?.value);
  expectFieldsOf(loadSchema('Transaction'), transaction(JSON.stringify(WHOLE_TRANSACTION))?.value);
});

describe('what the service adds or changes', () => {
  test('new enumeration values pass', () => {
    expect(quote('{"id":"Q","status":"HALF_DONE"}')?.value.status).toBe('HALF_DONE');
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

  test('an empty id names nothing', () => {
    const read = quote('{"id":"Q","transactionId":"","source":{"accountId":"","customerId":""}}');
    expect(read?.value).toMatchObject({
      transactionId: null,
      source: { accountId: null, customerId: null },
      otherFieldsJson: '{"transactionId":""}',
    });
    expect(read?.warnings.join()).not.toContain('Id');
    const listed = transaction('{"id":"T","customerId":"","source":{"accountId":""},"destination":{"accountId":""}}');
    expect(listed?.value).toMatchObject({
      customerId: null,
      source: { accountId: null },
      destination: { accountId: null },
    });
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
    const read = transaction('{"id":"T","counterpartyInformation":{"FULL_NAME":"A","AGE":30,"X":null}}');
    expect(read?.value).toMatchObject({
      counterpartyInformation: { FULL_NAME: 'A' },
      otherFieldsJson: '{"counterpartyInformation":{"AGE":30,"X":null}}',
    });
    const warned = transaction('{"id":"T","counterpartyInformation":{"FULL_NAME":"A","X":null}}')?.warnings;
    expect(warned?.filter((warning) => warning.includes('counterparty'))).toEqual([]);
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
    ...['accountType', 'accountNumber', 'routingNumber', 'bankName', 'referenceCode', 'address', 'invoice'],
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
