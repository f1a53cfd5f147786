/** Reading is total, and every digit survives (invariants I8 and I10). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readAnswer } from '../../src/api/reading.ts';
import { changeRequestParts } from '../../src/api/requests.ts';
import { readTransactionPage } from '../../src/api/transaction-list.ts';
import type { Answer } from '../../src/api/types.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { parseLossless, stringifyLossless } from 'payment-processor-contract/lossless-json';
import { loadType } from 'payment-processor-contract/schemas';
import { createQuote } from './payment-api-in-test.ts';

const RUNS = { numRuns: 300 };
const FIELD_NAMES = [
  ...['id', 'status', 'source', 'destination', 'receivedAmount', 'amount', 'currency', 'decimals', 'code', 'message'],
  ...['paymentInstructions', 'accountOrWalletInfo', 'rateDetails', 'exchangeRate', 'counterpartyInformation', 'data'],
  ...['totalSendingAmount', 'details', 'error', 'hasMore', 'nextCursor', '__proto__', 'toString', 'constructor'],
  'hasOwnProperty',
];

/** JSON texts that use the service's own names in all the wrong ways. */
const jsonText = fc
  .letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        ...[
          'null',
          'true',
          '""',
          '0',
          '-0',
          '1.50',
          '1e400',
          '9223372036854775807',
          '9223372036854775808',
          '"\\ud800"',
        ],
      ),
      fc.string().map((text) => JSON.stringify(text)),
      fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
      fc
        .array(fc.tuple(fc.oneof(fc.constantFrom(...FIELD_NAMES), fc.string()), tie('value')), { maxLength: 6 })
        .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${String(value)}`).join(',')}}`),
    ),
  }))
  .value.map(String);
const body = fc.oneof(
  jsonText,
  jsonText.map((text) => `{"id":"X:1",${text.startsWith('{') && text !== '{}' ? text.slice(1) : `"source":${text}}`}`),
  jsonText.map((text) => text.slice(0, text.length / 2)),
  fc.string({ unit: 'binary' }),
);
const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.record({
    kind: fc.constant('response' as const),
    httpStatus: fc.oneof(fc.constantFrom(200, 201, 404, 409, 429, 500), fc.integer({ min: 0, max: 999 })),
    retryAfter: fc.oneof(fc.constant(null), fc.string()),
    location: fc.oneof(fc.constant(null), fc.string(), fc.webUrl()),
    body,
    cut: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('never-sent' as const, 'lost' as const), reason: fc.string() }),
);

function answeredWith(body: string): Answer {
  return { kind: 'response', httpStatus: 200, retryAfter: null, location: null, body, cut: false };
}

test('any answer has a reading that the record schemas take, and only a whole 2xx object with an id is accepted', () => {
  const quoteType = loadType('Quote');
  const transactionType = loadType('Transaction');
  fc.assert(
    fc.property(fc.constantFrom(...COMMAND_TYPES), answer, (operation, given) => {
      const reading = readAnswer(operation, given, 0);
      if (reading.kind !== 'accepted') return;
      expect(given).toMatchObject({ kind: 'response', cut: false });
      if (given.kind !== 'response') return;
      expect(Math.trunc(given.httpStatus / 100)).toBe(2);
      const { id } = JSON.parse(given.body) as { id: unknown };
      expect((reading.quote ?? reading.transaction)?.id).toBe(id);
      if (reading.quote !== null) expect(quoteType.isValid(reading.quote)).toBe(true);
      if (reading.transaction !== null) expect(transactionType.isValid(reading.transaction)).toBe(true);
    }),
    RUNS,
  );
});

test('any answer to a list has a reading', () => {
  fc.assert(
    fc.property(answer, (given) => {
      expect(['page', 'failed']).toContain(readTransactionPage(given, 0).kind);
    }),
    RUNS,
  );
});

test('every 64-bit amount and every decimal of an answer survives', () => {
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const decimal = fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.integer({ min: 1, max: 20 }))
    .map(([digits, scale]) => {
      const text = digits.toString().padStart(scale + 1, '0');
      return `${text.slice(0, -scale)}.${text.slice(-scale)}`;
    });
  fc.assert(
    fc.property(int64, int64, decimal, decimal, (sending, fees, rate, multiplier) => {
      const text = `{"id":"Quote:1","totalSendingAmount":${sending},"feesIncluded":${fees},"exchangeRate":${rate},"rateDetails":{"serviceApiMultiplier":${multiplier},"new":${rate}}}`;
      expect(readAnswer('create-quote', answeredWith(text), 0)).toMatchObject({
        kind: 'accepted',
        quote: {
          totalSendingAmount: sending,
          feesIncluded: fees,
          exchangeRate: rate,
          rateDetails: { serviceApiMultiplier: multiplier, otherFieldsJson: `{"new":${rate}}` },
        },
      });
    }),
    RUNS,
  );
});

test('every 64-bit amount of a request is written digit by digit', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (lockedCurrencyAmount) => {
      const { body: text } = changeRequestParts({
        ...createQuote,
        fields: { ...createQuote.fields, lockedCurrencyAmount },
      });
      expect(text).toContain(`"lockedCurrencyAmount":${lockedCurrencyAmount},`);
    }),
    RUNS,
  );
});

test('fields that the schema does not know, and values of the wrong type, are kept as received', () => {
  fc.assert(
    fc.property(jsonText, (value) => {
      const text = `{"id":"Transaction:1","receivedAmount":{"amount":"ten"},"addedSince":${value}}`;
      expect(readAnswer('transfer-in', answeredWith(text), 0)).toMatchObject({
        kind: 'accepted',
        transaction: {
          receivedAmount: { amount: null, otherFieldsJson: '{"amount":"ten"}' },
          otherFieldsJson: `{"addedSince":${stringifyLossless(parseLossless(value))}}`,
        },
      });
    }),
    RUNS,
  );
});
