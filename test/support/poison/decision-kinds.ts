/** Poison on the topic of operators' decisions. Refusing a decision on an unknown key is correct. */
import { CODECS, zigzag, type HeaderList } from '../record-batch.ts';
import {
  batchKind,
  expected,
  JSON_HEADER,
  messageKind,
  type Expected,
  type PoisonFamilies,
  type PoisonKind,
  type PoisonMessage,
} from './kinds.ts';
import { BATCH_FAMILIES } from './batch-kinds.ts';

const MIB = 1024 * 1024;
const INPUT = { input: 'decision' } as const;
const refused: Expected = expected.refusedDecision;
const buried: Expected = { ...expected.buried, burials: ['UNREADABLE', 'TOO_LARGE'], copy: 'either' };
const any: Expected = { ...buried, burials: ['UNREADABLE', 'TOO_LARGE', 'REFUSED_DECISION', 'SET_ASIDE'] };

const DECISION = { decision: 'EXECUTED', expectedRevision: 1, operator: 'fuzz', reason: 'poison' };

export function decisionJson(fields: object = {}, more = ''): string {
  return `${JSON.stringify({ ...DECISION, ...fields }).slice(0, -1)}${more}}`;
}

function decision(
  name: string,
  outcome: Expected,
  make: (place: {
    nowMs: number;
    encode: (record: object) => Promise<Buffer>;
  }) => PoisonMessage | Promise<PoisonMessage>,
  partition: 'own' | 'other' = 'own',
): PoisonKind {
  return messageKind(
    `a decision ${name}`,
    outcome,
    async (place) => ({ value: decisionJson(), headers: [JSON_HEADER], ...(await make(place)) }),
    { ...INPUT, partition },
  );
}

const unknownFields = (count: number): string => Array.from({ length: count }, (_, index) => `,"f${index}":1`).join('');

export const DECISION_FAMILIES: PoisonFamilies = {
  'decisions: bodies': bodies(),
  'decisions: headers': headers(),
  'decisions: keys and sizes': keysAndSizes(),
  'decisions: batches': batches(),
};

function bodies(): PoisonKind[] {
  const odd: [string, string | null | Buffer][] = [
    ['with no value', null],
    ['with an empty value', ''],
    ['of garbage', Buffer.alloc(300, 0xee)],
    ['of 30,000 arrays', '['.repeat(30_000) + ']'.repeat(30_000)],
    ['of 300,000 arrays', '['.repeat(300_000) + ']'.repeat(300_000)],
    ['with 5,000 arrays in a field', decisionJson({}, `,"x":${'['.repeat(5_000)}${']'.repeat(5_000)}`)],
    ['with 6,500 unknown fields', decisionJson({}, unknownFields(6_500))],
    ['with 60,000 unknown fields', decisionJson({}, unknownFields(60_000))],
    ['with an unknown field named by 900 KB', decisionJson({}, `,"${'x'.repeat(900_000)}":1`)],
    ['with otherFieldsJson: hello', decisionJson({ otherFieldsJson: 'hello' })],
    ['with a field __proto__', decisionJson({}, ',"__proto__":{"decision":"RETRY"}')],
    ['with a revision of 1e400', decisionJson({}, ',"expectedRevision":1e400')],
    ['with a revision of -1', decisionJson({ expectedRevision: -1 })],
    ['with a revision of 0', decisionJson({ expectedRevision: 0 })],
    ['with a revision of 2^31', decisionJson({ expectedRevision: 2 ** 31 })],
    ['with a revision of 1.5', decisionJson({ expectedRevision: 1.5 })],
    ['with a revision of 40 digits', decisionJson({}, `,"expectedRevision":${'9'.repeat(40)}`)],
    ['with a revision as text', decisionJson({ expectedRevision: '1' })],
    ['with no revision', decisionJson({ expectedRevision: null })],
    ['with a revision as rawJSON', decisionJson({ expectedRevision: { rawJSON: '1' } })],
    ['with a revision as rawJSON of an object', decisionJson({ expectedRevision: { rawJSON: { valueOf: 1 } } })],
    ['that is a number', decisionJson({ decision: 5 })],
    ['that is an object', decisionJson({ decision: {} })],
    ['by nobody', decisionJson({ operator: null })],
    ['with an empty transaction id', decisionJson({ transactionId: '' })],
    ['with a transaction id that is an array', decisionJson({ transactionId: [] })],
    ['with a reason of 2,001 characters', decisionJson({ reason: 'x'.repeat(2_001) })],
    ['with a reason of 900 KB', decisionJson({ reason: 'x'.repeat(900_000) })],
  ];
  const lengths: [string, bigint][] = [
    ['-1', -1n],
    ['2^31', 2n ** 31n],
    ['2^62', 2n ** 62n],
  ];
  return [
    ...odd.map(([name, value]) => decision(name, any, () => ({ value }))),
    decision('in Avro', refused, async ({ encode }) => ({
      value: await encode({ ...DECISION, transactionId: null }),
      headers: [],
    })),
    decision('with the highest revision', refused, () => ({ value: decisionJson({ expectedRevision: 2 ** 31 - 1 }) })),
    decision('named constructor', refused, () => ({ value: decisionJson({ decision: 'constructor' }) })),
    ...lengths.map(([name, length]) =>
      decision(`in Avro with a text of ${name} bytes`, buried, async ({ encode }) => ({
        value: Buffer.concat([(await encode({ ...DECISION, transactionId: null })).subarray(0, 5), zigzag(length)]),
        headers: [],
      })),
    ),
  ];
}

function headers(): PoisonKind[] {
  const odd: [string, HeaderList][] = [
    ['a header with no value', [['x', null]]],
    ['a header named constructor', [['constructor', 'x']]],
    ['a header named __proto__', [['__proto__', 'x']]],
    ['a header with an empty name', [['', 'x']]],
    ['a header whose name is not UTF-8', [[Buffer.from([0xff, 0xfe]), 'x']]],
    ['a thousand headers of one name', Array.from({ length: 1_000 }, () => ['x', 'x'] as const)],
    ['60,000 headers', Array.from({ length: 60_000 }, (_, index) => [`h${index}`, 'x'] as const)],
    ['a header of 900 KB', [['x', Buffer.alloc(900_000, 0x61)]]],
  ];
  return odd.flatMap(([name, more]) => {
    const outcome = { ...refused, burials: ['REFUSED_DECISION', 'TOO_LARGE', 'UNREADABLE'], copy: 'either' } as const;
    return (['own', 'other'] as const).map((partition) =>
      decision(
        `with ${name}${partition === 'own' ? '' : ', to be moved'}`,
        outcome,
        () => ({ headers: [JSON_HEADER, ...more] }),
        partition,
      ),
    );
  });
}

function keysAndSizes(): PoisonKind[] {
  const keys: [string, Buffer | string | null][] = [
    ['no key', null],
    ['an empty key', ''],
    ['a key of 900 KB', 'k'.repeat(900_000)],
    ['a key that is not UTF-8', Buffer.from([0xff, 0x80])],
  ];
  const padded = (bytes: number): string => decisionJson().padStart(bytes, ' ');
  const sizes: [string, number][] = [
    ['64 KiB and one byte', 64 * 1024 + 1],
    ['1.2 MiB', Math.floor(1.2 * MIB)],
    ['4 MiB and one byte', 4 * MIB + 1],
    ['5 MiB', 5 * MIB],
  ];
  return [
    ...keys.map(([name, key]) =>
      decision(`with ${name}`, { ...buried, burials: ['NO_KEY', 'INVALID_KEY', 'TOO_LARGE'] }, () => ({ key })),
    ),
    ...sizes.flatMap(([name, bytes]) =>
      (['own', 'other'] as const).map((partition) =>
        decision(
          `of ${name}${partition === 'own' ? '' : ', to be moved'}`,
          any,
          () => ({ value: padded(bytes), codec: CODECS.gzip }),
          partition,
        ),
      ),
    ),
  ];
}

/** The publisher sets the timestamp. Kafka 4.0 and later accept only plausible past ones; older brokers accept any. */
function batches(): PoisonKind[] {
  const refusedByEither: Expected = { ...refused, broker: 'either' };
  const times: [string, bigint, Expected][] = [
    ['0', 0n, refused],
    ['-1', -1n, refused],
    ['the lowest int64', -(2n ** 63n), refusedByEither],
    ['the earliest that has a date, less one', -8_640_000_000_000_001n, refused],
    ['the year 9999', 253_402_300_799_999n, refusedByEither],
  ];
  return [
    ...times.flatMap(([name, firstTimestamp, outcome]) => [
      decision(`of the time ${name}`, outcome, () => ({ batch: { firstTimestamp } })),
      decision(`of the time ${name}, to be moved`, outcome, () => ({ batch: { firstTimestamp } }), 'other'),
    ]),
    ...(BATCH_FAMILIES['bombs'] ?? [])
      .filter(({ name }) => /^a value of 70 MiB/.test(name))
      .map(({ name, make, expected: outcome }) =>
        batchKind(`among decisions: ${name}`, { ...outcome, answers: ['none'] }, make, INPUT),
      ),
  ];
}
