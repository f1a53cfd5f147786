/** Poison on the topic of observations. The topic is private, but a process that may write to it can have a bug. */
import { encodeEntry } from '../../../src/ledger/entry-record.ts';
import { encodeClaim } from '../../../src/ledger/ledger-records.ts';
import { InternalRecord } from '../../../src/ledger/ledger-value.ts';
import type { Observation } from '../../../src/status/observation.ts';
import { aQuote, aTransaction, entryAt } from '../../ledger/entries.ts';
import { CODECS, type HeaderList } from '../record-batch.ts';
import {
  batchKind,
  messageKind,
  type Expected,
  type PoisonFamilies,
  type PoisonKind,
  type PoisonMessage,
} from './kinds.ts';
import { BATCH_FAMILIES } from './batch-kinds.ts';

const MIB = 1024 * 1024;
const INPUT = { input: 'observation' } as const;
const RECORDS = new InternalRecord<Observation>('Observation');
/** The bytes before each value's Avro. */
const HEAD_BYTES = 16;
/** Skipped or set aside: nobody waits for an answer. */
const any: Expected = {
  broker: 'takes',
  answers: ['none'],
  burials: ['no', 'UNREADABLE', 'TOO_LARGE', 'SET_ASIDE', 'INVALID_KEY', 'NO_KEY', 'UNREADABLE_BATCH'],
  copy: 'either',
  companions: 'buried',
};

/** Like the processor's own, but without its size limit. */
export function observationBytes(id: string, fields: object = {}, transaction: object = {}): Buffer {
  return RECORDS.encode({ ...observationOf(id, transaction), ...fields });
}

function observationOf(id: string, transaction: object): Observation {
  const nowMs = Date.now();
  return {
    transaction: { ...aTransaction({ id, type: 'INCOMING' }), ...transaction },
    quote: null,
    requestBeganMs: nowMs - 5,
    requestEndedMs: nowMs,
    observedBy: 'POLL',
    observer: 'fuzz',
    commandKey: null,
    carried: {},
  };
}

function observation(name: string, make: (key: string) => PoisonMessage): PoisonKind {
  return messageKind(
    `an observation ${name}`,
    any,
    ({ key }) => ({ value: observationBytes(key), headers: [], ...make(key) }),
    INPUT,
  );
}

export const OBSERVATION_FAMILIES: PoisonFamilies = {
  'observations: bodies': bodies(),
  'observations: keys and headers': keysAndHeaders(),
  'observations: batches': batches(),
};

function bodies(): PoisonKind[] {
  const values: [string, string | Buffer | null][] = [
    ['with no value', null],
    ['with an empty value', ''],
    ['of garbage', Buffer.alloc(300, 0xee)],
    ['of JSON', '{"requestBeganMs":1}'],
    ['that is the record of a claim', encodeClaim({ token: 'x', processId: 'x', isFenced: false, releaseWithinMs: 0 })],
    ['that is the record of an entry', encodeEntry(entryAt('transfer-in'))],
  ];
  /** Changes to a good value. More of them: test/status/records.test.ts, and the pure intake's random messages. */
  const changes: [string, (good: Buffer) => Buffer][] = [
    ['cut off within its head', (good) => good.subarray(0, HEAD_BYTES - 1)],
    ['that is a head alone', (good) => good.subarray(0, HEAD_BYTES)],
    ['of another format', (good) => put(good, 0, Buffer.of(3))],
    ['of a schema that no ledger has', (good) => put(good, 8, Buffer.alloc(8, 0xab))],
    ['with a number that does not end', (good) => put(good, HEAD_BYTES, Buffer.alloc(30, 0xff))],
  ];
  const fields: [string, object][] = [
    ['whose quote is empty', { quote: { ...aQuote({}), id: '' } }],
    ['whose quote has a status alone', { quote: aQuote({ status: 'PENDING' }) }],
    ['with nothing seen', { transaction: null, quote: null }],
    ['whose times are no numbers', { requestBeganMs: NaN, requestEndedMs: NaN }],
    ['whose times are without end', { requestBeganMs: -Infinity, requestEndedMs: Infinity }],
    ['whose times are 1.5', { requestBeganMs: 1.5, requestEndedMs: 1.5 }],
    ['whose times are 1e308', { requestBeganMs: 1e308, requestEndedMs: 1e308 }],
    ['whose times are beyond int64', { requestBeganMs: 0, requestEndedMs: 1e19 }],
    ['that carries a header named constructor', { carried: { constructor: 'x' } }],
    ['that carries 900 KB', { carried: { traceparent: 'x'.repeat(900_000) } }],
    ['that carries an id of its own', { carried: { ce_id: 'x', 'content-type': 'x' } }],
    ['by nobody that we know', { observedBy: 'x', observer: '' }],
    ['of a command whose key is empty', { commandKey: '' }],
    ['of a command whose key has blanks', { commandKey: 'a b' }],
  ];
  const transactions: [string, object][] = [
    ['whose id is empty', { id: '' }],
    ['whose id is another', { id: 'Transaction:another' }],
    ['whose id has 900 KB', { id: 'x'.repeat(900_000) }],
    ['whose status has 900 KB', { status: 'x'.repeat(900_000) }],
    ['whose type is missing', { type: null }],
    [
      'whose amount is the least int64',
      { receivedAmount: { amount: -(2n ** 63n), currency: { code: 'USD', name: null, symbol: null, decimals: 2 } } },
    ],
    ['with fields of 3 MiB', { otherFieldsJson: 'x'.repeat(3 * MIB) }],
    ['with a reason of 1.5 MiB', { failureReason: 'x'.repeat(1.5 * MIB) }],
    ['with other fields that are no JSON', { otherFieldsJson: '[' }],
  ];
  return [
    ...values.map(([name, value]) => observation(name, () => ({ value }))),
    ...changes.map(([name, change]) => observation(name, (key) => ({ value: change(observationBytes(key)) }))),
    ...fields.map(([name, more]) => observation(name, (key) => ({ value: observationBytes(key, more) }))),
    ...transactions.map(([name, more]) => observation(name, (key) => ({ value: observationBytes(key, {}, more) }))),
    observation('with fields of 6 MiB in a small batch', (key) => ({
      value: observationBytes(key, {}, { otherFieldsJson: 'x'.repeat(6 * MIB) }),
      codec: CODECS.gzip,
    })),
    observation('with fields of 20 MiB in a small batch', (key) => ({
      value: observationBytes(key, {}, { otherFieldsJson: 'x'.repeat(20 * MIB) }),
      codec: CODECS.zstd,
    })),
  ];
}

function put(value: Buffer, at: number, bytes: Buffer): Buffer {
  return Buffer.concat([value.subarray(0, at), bytes, value.subarray(at + bytes.length)]);
}

function keysAndHeaders(): PoisonKind[] {
  const keys: [string, string | Buffer | null][] = [
    ['with no key', null],
    ['with an empty key', ''],
    ['with a key that is not UTF-8', Buffer.from([0xff, 0xfe, 0x80])],
    ['with a key of 900 KB', 'k'.repeat(900_000)],
    ['with a key of 3 KB', 'k'.repeat(3_000)],
  ];
  const headers: [string, HeaderList][] = [
    ['a header with no value', [['x', null]]],
    ['a header named constructor', [['constructor', 'x']]],
    ['60,000 headers', Array.from({ length: 60_000 }, (_, index) => [`h${index}`, 'x'] as const)],
    ['a header of 3 MiB', [['x', Buffer.alloc(3 * MIB, 0x61)]]],
  ];
  return [
    ...keys.map(([name, key]) => observation(name, () => ({ key }))),
    ...['__proto__', 'constructor', '!position', '!poll', 't:x'].map((key) =>
      messageKind(`an observation of ${key}`, any, () => ({ value: observationBytes(key), headers: [] }), {
        ...INPUT,
        fixedKey: key,
      }),
    ),
    ...headers.map(([name, more]) => observation(`with ${name}`, () => ({ headers: more }))),
    ...headers.map(([name, more]) =>
      observation(`that cannot be read, with ${name}`, () => ({ headers: more, value: 'x' })),
    ),
  ];
}

function batches(): PoisonKind[] {
  return [
    ...([0n, -1n, -8_640_000_000_000_001n] as const).map((firstTimestamp) =>
      observation(`of the time ${firstTimestamp}`, () => ({ batch: { firstTimestamp } })),
    ),
    ...(BATCH_FAMILIES['bombs'] ?? [])
      .filter(({ name }) => /^a value of 70 MiB/.test(name))
      .map(({ name, make }) => batchKind(`among observations: ${name}`, any, make, INPUT)),
  ];
}
