/** Records of the status part, as they are read back: whole, or passed over, or a clear error. */
import { describe, expect, test } from 'vitest';
import {
  headOf,
  learnSchema,
  LedgerFormatError,
  UnknownSchemaError,
  VALUE_CLASS,
} from '../../src/ledger/ledger-value.ts';
import { decodeObservation, encodeObservation, type Observation } from '../../src/status/observation.ts';
import { pollRecords } from '../../src/status/poller/record.ts';
import {
  decodeTransactionState,
  encodeTransactionState,
  readableState,
  unseenState,
} from '../../src/status/transaction-state.ts';
import { readQuote, readTransaction } from '../../src/api/wire.ts';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import type { Transaction } from 'payment-processor-contract/types';
import { taken } from '../consumers/received.ts';
import { otherRelease } from '../ledger/other-release.ts';
import { anObservation } from './observations.ts';

const shown = '{"id":"Transaction:1","receivedAmount":{"amount":9007199254740993},"newField":[1.50]}';
const observation = anObservation({
  transaction: readTransaction(parseLossless(shown))?.value ?? null,
  carried: { traceparent: '00-1-2-03' },
});

/** How many there are in a block of a map: zigzag, seven bits a byte. */
const HEADERS_2_52 = Buffer.from('8080808080808010', 'hex');

describe('an observation', () => {
  test('is read as it was written, every digit of it', () => {
    expect(decodeObservation(encodeObservation(observation))).toEqual(observation);
  });

  const carried = (name: string): Observation => ({ ...observation, carried: { [name]: 'a' } });
  test.each([
    ['empty', Buffer.alloc(0)],
    ['JSON', Buffer.from('{"transaction":null}')],
    ['nothing', null],
    ['cut off', encodeObservation(observation).subarray(0, 40)],
    [
      'of more headers than it has bytes',
      Buffer.concat([encodeObservation(observation).subarray(0, -1), HEADERS_2_52]),
    ],
    ['by nobody that there is', encodeObservation({ ...observation, observedBy: 'GUESS' as 'POLL' })],
    ['begun at no time', encodeObservation({ ...observation, requestBeganMs: NaN })],
    ['ended at no time', encodeObservation({ ...observation, requestEndedMs: Infinity })],
    ['with a header that is not carried', encodeObservation(carried('cookie'))],
  ])('that is %s is passed over', (_name, bytes) => {
    expect(decodeObservation(bytes)).toBeNull();
  });

  test('of a release whose ledger was not read yet is no error of its', () => {
    const newer = otherRelease('Observation', ({ fields }) => {
      fields.push({ name: 'addedLater', type: ['null', 'string'] });
    });
    const value = newer.written(encodeObservation(observation), { addedLater: 'x' });
    expect(() => decodeObservation(value)).toThrow(UnknownSchemaError);
    learnSchema(newer.schema.value);
    expect(decodeObservation(value)).toEqual(observation);
  });

  /** As its lane reads it. */
  const readBack = (value: Buffer): Observation | null => {
    const message = taken(value, { key: Buffer.from('Transaction:1') });
    return message.cut === null ? decodeObservation(message.value) : null;
  };
  const quoteOf = (instructions: number): Observation['quote'] => {
    const paymentInstructions = Array(instructions).fill('{}').join(',');
    return readQuote(
      parseLossless(`{"id":"Quote:1","status":"PENDING","paymentInstructions":[${paymentInstructions}]}`),
    )!.value;
  };
  test.each([10, 4_000, 6_000, 100_000])(
    'of a quote with %i payment instructions is read, with its status',
    (count) => {
      const read = readBack(encodeObservation({ ...observation, quote: quoteOf(count) }));
      expect(read?.quote).toMatchObject({ id: 'Quote:1', status: 'PENDING' });
    },
  );

  test('is read with its status however long it is', () => {
    for (let length = 1024 * 1024 - 300; length < 1024 * 1024; length += 5) {
      const text = `{"id":"Transaction:1","status":"SENT","other":"${'x'.repeat(length)}"}`;
      const transaction = readTransaction(parseLossless(text))?.value ?? null;
      expect(readBack(encodeObservation({ ...observation, transaction }))?.transaction?.status, `${length}`).toBe(
        'SENT',
      );
    }
  });

  test('has U+FFFD in the place of half a surrogate pair', () => {
    const half = {
      ...observation,
      transaction: {
        ...(observation.transaction as Transaction),
        failureReason: '\ud800',
        counterpartyInformation: { '\udfff': 'x' },
      },
    };
    expect(decodeObservation(encodeObservation(half))?.transaction).toMatchObject({
      failureReason: '\ufffd',
      counterpartyInformation: { '\ufffd': 'x' },
    });
  });
});

describe("a transaction's state", () => {
  const state = { ...unseenState('Transaction:1'), status: 'SENT', effectStatus: 'SENT', changes: 2 };

  test('is read as it was written', () => {
    expect(decodeTransactionState(encodeTransactionState(state))).toEqual(state);
  });

  test('says without being decoded since when it is at rest', () => {
    expect(headOf(encodeTransactionState(state))).toEqual({ valueClass: VALUE_CLASS.kept, timeMs: 0 });
    const rests = encodeTransactionState({ ...state, status: 'COMPLETED', seenEndedMs: 7 });
    expect(headOf(rests)).toEqual({ valueClass: VALUE_CLASS.transaction, timeMs: 7 });
  });

  test.each([Buffer.from('{'), Buffer.alloc(0), encodeTransactionState(state).subarray(0, 30)])(
    'that cannot be read is a clear error, or none',
    (bytes) => {
      expect(() => decodeTransactionState(bytes)).toThrow(LedgerFormatError);
      expect(readableState(bytes)).toBeNull();
    },
  );
});

test("the poller's record is read as it was written, or is a clear error", () => {
  const times = { startMs: 1, discoveredToMs: 2, sweptAtMs: null, forgottenAfterMs: 5, forgottenToMs: 6 };
  const record = { ...times, unlisted: [{ fromMs: 3, toMs: 4 }], sweep: null };
  expect(pollRecords.decode(pollRecords.encode(record))).toEqual(record);
  expect(() => pollRecords.decode(encodeTransactionState(unseenState('a')))).toThrow(LedgerFormatError);
});
