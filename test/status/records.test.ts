/** Records of the status part, as they are read back: whole, or passed over, or a clear error. */
import { describe, expect, test } from 'vitest';
import { LedgerFormatError } from '../../src/ledger/ledger-records.ts';
import { decodeObservation, encodeObservation, type Observation } from '../../src/status/observation.ts';
import { decodePollRecord, encodePollRecord } from '../../src/status/poller/record.ts';
import {
  decodeTransactionState,
  encodeTransactionState,
  recordRestingSinceMs,
  unseenState,
} from '../../src/status/transaction-state.ts';
import { readTransaction } from '../../src/api/wire.ts';
import { parseLossless } from 'payment-processor-contract/lossless-json';

const shown = '{"id":"Transaction:1","receivedAmount":{"amount":9007199254740993},"newField":[1.50]}';
const observation: Observation = {
  transaction: readTransaction(parseLossless(shown))?.value ?? null,
  quote: null,
  requestBeganMs: 1,
  requestEndedMs: 2,
  observedBy: 'POLL',
  observer: 'process-1',
  commandKey: null,
  carried: { traceparent: '00-1-2-03' },
};

const altered = (changes: object): Buffer =>
  Buffer.from(JSON.stringify({ ...(JSON.parse(encodeObservation(observation).toString()) as object), ...changes }));

describe('an observation', () => {
  test('is read as it was written, every digit of it', () => {
    expect(decodeObservation(encodeObservation(observation))).toEqual(observation);
  });

  test.each([
    ['no JSON', Buffer.from('{')],
    ['nothing', null],
    ['without its times', altered({ requestEndedMs: undefined })],
    ['with times of words', altered({ requestBeganMs: 'soon' })],
    ['of a transaction without an id', altered({ transaction: { status: 'SENT' } })],
    ['of a transaction whose status is a number', altered({ transaction: { id: 'Transaction:1', status: 7 } })],
    ['with an amount that is none', altered({ transaction: { id: 'a', receivedAmount: { amount: { $int64: 'x' } } } })],
    ['with headers that are none', altered({ carried: { traceparent: 7 } })],
  ])('that is %s is passed over', (_name, bytes) => {
    expect(decodeObservation(bytes)).toBeNull();
  });
});

describe("a transaction's state", () => {
  test('is read as it was written', () => {
    const state = { ...unseenState('Transaction:1'), status: 'SENT', effectStatus: 'SENT', changes: 2 };
    expect(decodeTransactionState(encodeTransactionState(state))).toEqual(state);
  });

  test.each(['{', 'null', '{}', '{"id":7}', '{"id":"a","changes":"many"}'])('that is %s is a clear error', (text) => {
    expect(() => decodeTransactionState(Buffer.from(text))).toThrow(LedgerFormatError);
    // It is kept, and the store goes on.
    expect(recordRestingSinceMs(Buffer.from(text))).toBeNull();
  });
});

test("the poller's record is read as it was written, or is a clear error", () => {
  const record = { startMs: 1, discoveredToMs: 2, catchUp: { fromMs: 3, toMs: 4 }, sweep: null, sweptAtMs: null };
  expect(decodePollRecord(encodePollRecord(record))).toEqual(record);
  expect(() => decodePollRecord(Buffer.from('{"v":1,"startMs":"now"}'))).toThrow(LedgerFormatError);
});
