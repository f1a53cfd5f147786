/** Poison on the topic of observations, which is private; whoever may write there may still be wrong. */
import { aTransaction } from '../../ledger/entries.ts';
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
/** Passed over or set aside: nobody waits for an answer. */
const any: Expected = {
  broker: 'takes',
  answers: ['none'],
  burials: ['no', 'UNREADABLE', 'TOO_LARGE', 'SET_ASIDE', 'INVALID_KEY', 'NO_KEY', 'UNREADABLE_BATCH'],
  copy: 'either',
  companions: 'buried',
};

export function observationJson(id: string, fields: object = {}, transaction: object = {}): string {
  return JSON.stringify({ ...observationOf(id, transaction), ...fields });
}

function observationOf(id: string, transaction: object): object {
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
    ({ key }) => ({ value: observationJson(key), headers: [], ...make(key) }),
    INPUT,
  );
}

export const OBSERVATION_FAMILIES: PoisonFamilies = {
  'observations: bodies': bodies(),
  'observations: keys and headers': keysAndHeaders(),
  'observations: batches': batches(),
};

function bodies(): PoisonKind[] {
  const texts: [string, string | Buffer | null][] = [
    ['with no value', null],
    ['with an empty value', ''],
    ['of garbage', Buffer.alloc(300, 0xee)],
    ['that is a number', '5'],
    ['that is null', 'null'],
    ['that is an array', '[]'],
    ['that has a time alone', '{"requestBeganMs":1}'],
    ['of 300,000 arrays', '['.repeat(300_000) + ']'.repeat(300_000)],
    [
      'with 5,000 arrays in a field',
      observationJson('x').replace('"carried":{}', `"carried":${'['.repeat(5_000)}${']'.repeat(5_000)}`),
    ],
  ];
  const fields: [string, object][] = [
    ['whose transaction is a number', { transaction: 5 }],
    ['whose transaction is a text', { transaction: 'x' }],
    ['whose transaction is an array', { transaction: [] }],
    ['whose transaction is empty', { transaction: {} }],
    ['whose transaction has a status alone', { transaction: { status: 'PENDING' } }],
    ['whose quote is a number', { quote: 5 }],
    ['whose quote is empty', { quote: {} }],
    ['whose quote has a status alone', { quote: { status: 'PENDING' } }],
    ['whose quote has wrong types', { quote: { id: 5, status: [], transactionId: {}, expiresAt: 7 } }],
    ['with nothing seen', { transaction: null, quote: null }],
    ['without times', { requestBeganMs: null, requestEndedMs: null }],
    ['whose times are texts', { requestBeganMs: 'x', requestEndedMs: 'y' }],
    ['whose times are 1.5', { requestBeganMs: 1.5, requestEndedMs: 1.5 }],
    ['whose times are 1e308', { requestBeganMs: 1e308, requestEndedMs: 1e308 }],
    ['whose times are beyond int64', { requestBeganMs: 0, requestEndedMs: 1e19 }],
    ['whose times are objects', { requestBeganMs: {}, requestEndedMs: [] }],
    ['whose times are bigints', { requestBeganMs: { $int64: '1' }, requestEndedMs: { $int64: '2' } }],
    ['whose bigint is no number', { requestBeganMs: { $int64: 'x' } }],
    ['whose bigint is an object', { requestBeganMs: { $int64: {} } }],
    ['whose bigint has 100,000 digits', { requestEndedMs: { $int64: '9'.repeat(100_000) } }],
    ['that carries null', { carried: null }],
    ['that carries a number', { carried: { traceparent: 5 } }],
    ['that carries null in a header', { carried: { traceparent: null } }],
    ['that carries an object', { carried: { traceparent: { x: 1 } } }],
    ['that carries a header named constructor', { carried: { constructor: 'x' } }],
    ['that carries 900 KB', { carried: { traceparent: 'x'.repeat(900_000) } }],
    ['that carries an id of its own', { carried: { ce_id: 'x', 'content-type': 'x' } }],
    ['by nobody that we know', { observedBy: 5, observer: {} }],
    ['of a command whose key is an object', { commandKey: {} }],
  ];
  const transactions: [string, object][] = [
    ['whose id is a number', { id: 5 }],
    ['whose id is another', { id: 'Transaction:another' }],
    ['whose id has 900 KB', { id: 'x'.repeat(900_000) }],
    ['whose status is an object', { status: {} }],
    ['whose status has 900 KB', { status: 'x'.repeat(900_000) }],
    ['whose type is missing', { type: undefined }],
    [
      'whose amounts are beyond int64',
      {
        receivedAmount: {
          amount: { $int64: '9'.repeat(30) },
          currency: { code: 'USD', name: null, symbol: null, decimals: 2 },
        },
      },
    ],
    ['whose amounts are texts', { receivedAmount: { amount: 'x', currency: 'USD' } }],
    ['whose amounts are numbers', { receivedAmount: { amount: 5, currency: { code: 'USD' } } }],
    ['whose times are numbers', { createdAt: 5, updatedAt: 7 }],
    ['with fields of 3 MiB', { otherFieldsJson: 'x'.repeat(3 * MIB) }],
    ['with a reason of 1.5 MiB', { failureReason: 'x'.repeat(1.5 * MIB) }],
    ['with a field that is a number', { otherFieldsJson: 5 }],
  ];
  return [
    ...texts.map(([name, value]) => observation(name, () => ({ value }))),
    ...fields.map(([name, more]) => observation(name, (key) => ({ value: observationJson(key, more) }))),
    ...transactions.map(([name, more]) => observation(name, (key) => ({ value: observationJson(key, {}, more) }))),
    observation('with fields of 6 MiB in a small batch', (key) => ({
      value: observationJson(key, {}, { otherFieldsJson: 'x'.repeat(6 * MIB) }),
      codec: CODECS.gzip,
    })),
    observation('with fields of 20 MiB in a small batch', (key) => ({
      value: observationJson(key, {}, { otherFieldsJson: 'x'.repeat(20 * MIB) }),
      codec: CODECS.zstd,
    })),
  ];
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
      messageKind(`an observation of ${key}`, any, () => ({ value: observationJson(key), headers: [] }), {
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
      .filter(({ name }) => /^a value of (70|200) MiB/.test(name))
      .map(({ name, make }) => batchKind(`among observations: ${name}`, any, make, INPUT)),
  ];
}
