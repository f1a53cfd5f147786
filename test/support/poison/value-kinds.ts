/** Poison in keys and values: sizes around every limit, malicious JSON and Avro. */
import { CODECS, zigzag, type CodecName } from '../record-batch.ts';
import {
  expected,
  JSON_HEADER,
  messageKind,
  quoteJson,
  transferJson,
  umaQuoteJson,
  type PoisonFamilies,
  type PoisonKind,
} from './kinds.ts';

const KIB = 1024;
const MIB = KIB * KIB;
const QUOTES = { commandType: 'create-quote' } as const;

const arrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
/** A good command, padded with leading blanks to this size. */
const padded = (key: string, bytes: number): string => transferJson(key).padStart(bytes, ' ');

export const VALUE_FAMILIES: PoisonFamilies = {
  keys: keys(),
  sizes: sizes(),
  otherFieldsJson: otherFields(),
  'deep JSON': deepJson(),
  'odd JSON': oddJson(),
  Avro: avro(),
  bytes: bytes(),
  tombstones: [
    messageKind('a tombstone', expected.unreadable, () => ({ value: null, headers: [] })),
    messageKind('a tombstone that says it is JSON', expected.unreadable, () => ({ value: null })),
  ],
};

function keys(): PoisonKind[] {
  const odd = ['!#$%&/()=?{[]}~', 'k'.repeat(200), '0'];
  const usable = ['__proto__', 'constructor', 'toString', '!position', '!owner', '!poll', 'c:x', 't:x', ...odd];
  const none: [string, Buffer | string | null, PoisonKind['expected']][] = [
    ['of 1 MB', 'k'.repeat(1_000_000), { ...expected.badKey, copy: 'either' }],
    ['of 64 KiB', 'k'.repeat(64 * KIB), expected.badKey],
    ['like an abort marker', Buffer.from([0, 0, 0, 0]), expected.badKey],
    ['like a commit marker', Buffer.from([0, 0, 0, 1]), expected.badKey],
    ['that is not UTF-8', Buffer.from([0xff, 0xfe, 0x80]), expected.badKey],
    ['with a null character', 'a\u0000b', expected.badKey],
    ['that is empty', '', expected.badKey],
    ['with a blank', 'two words', expected.badKey],
    ['of 201 characters', 'k'.repeat(201), expected.badKey],
    ['that ends in .execute', 'quote-1.execute', expected.badKey],
    ['that is not ASCII', 'schlüssel', expected.badKey],
    ['framed by a serializer', Buffer.from([0, 0, 0, 0, 1, 6, 107, 101, 121]), expected.badKey],
    ['that is none', null, { ...expected.badKey, burials: ['NO_KEY'] }],
  ];
  return [
    ...usable.map((key) => messageKind(`the key ${key}`, expected.accepted, () => ({}), { fixedKey: key })),
    ...none.map(([name, key, outcome]) => messageKind(`a key ${name}`, outcome, () => ({ key }))),
    messageKind('a key of 5 MiB in a small batch', expected.badKeyByReference, () => ({
      key: 'k'.repeat(5 * MIB),
      codec: CODECS.gzip,
    })),
    messageKind('a key and a value of 3 MiB each in a small batch', expected.badKeyByReference, () => ({
      key: 'k'.repeat(3 * MIB),
      value: 'v'.repeat(3 * MIB),
      codec: CODECS.zstd,
    })),
  ];
}

/** Values that are not commands, in JSON and in Avro. */
function bytes(): PoisonKind[] {
  const json: [string, string | Buffer][] = [
    ['text', 'please transfer some money'],
    ['JSON cut off', transferJson('x').slice(0, 40)],
    ['JSON that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ['a JSON array', '[1,2]'],
    ['a JSON number', '17'],
    ['JSON that never ends', '['.repeat(30_000)],
    ['JSON with a member twice, once with escapes', transferJson('x', ',"amo\\u0075nt":10000')],
  ];
  const avro: [string, string | Buffer][] = [
    ['an empty value', ''],
    ['JSON without its content-type', transferJson('x')],
    ['a schema id cut off', Buffer.from([0, 0, 0])],
    ['another magic byte', Buffer.from([7, 0, 0, 0, 1, 2, 3])],
    ['arbitrary bytes', Buffer.from(Array.from({ length: 300 }, (_, index) => (200 + index * 7919) % 256))],
  ];
  return [
    ...json.map(([name, value]) => messageKind(name, expected.unreadable, () => ({ value }))),
    ...avro.map(([name, value]) => messageKind(name, expected.unreadable, () => ({ value, headers: [] }))),
    messageKind('a schema id alone', expected.unreadable, async ({ encode }) => {
      const fields = { source: { accountId: 'a' }, destination: { accountId: 'b' }, amount: 100n };
      return { value: (await encode(fields)).subarray(0, 5), headers: [] };
    }),
  ];
}

/** At, below and above 64 KiB, 1 MiB and 4 MiB. Compressed, because a batch has at most 1 MiB on the wire. */
function sizes(): PoisonKind[] {
  const codecs: CodecName[] = ['gzip', 'snappy', 'xerial', 'lz4', 'zstd'];
  const either = { ...expected.tooLarge, copy: 'either' } as const;
  const rows: [string, number, PoisonKind['expected'], CodecName][] = [
    ['64 KiB less one byte', 64 * KIB - 1, expected.accepted, 'none'],
    ['64 KiB', 64 * KIB, expected.accepted, 'none'],
    ['64 KiB and one byte', 64 * KIB + 1, expected.tooLarge, 'none'],
    ['1,000,000 bytes', 1_000_000, expected.tooLarge, 'none'],
    ['1 MiB less one byte', MIB - 1, either, 'gzip'],
    ['1 MiB', MIB, either, 'gzip'],
    ['1 MiB and one byte', MIB + 1, either, 'gzip'],
    ['1.2 MiB', Math.floor(1.2 * MIB), expected.tooLargeByReference, 'gzip'],
    ['3 MiB', 3 * MIB, expected.tooLargeByReference, 'gzip'],
    ['4 MiB less one byte', 4 * MIB - 1, expected.tooLargeByReference, 'gzip'],
    ['4 MiB', 4 * MIB, expected.tooLargeByReference, 'gzip'],
    ['4 MiB and one byte', 4 * MIB + 1, expected.tooLargeByReference, 'gzip'],
    ...codecs.map((codec): (typeof rows)[number] => [
      `5 MiB under ${codec}`,
      5 * MIB,
      expected.tooLargeByReference,
      codec,
    ]),
  ];
  return rows.flatMap(([name, bytes, outcome, codec]) => [
    messageKind(`a value of ${name}`, outcome, ({ key }) => ({ value: padded(key, bytes), codec: CODECS[codec] })),
    messageKind(
      `a value of ${name}, to be moved`,
      // Moved by reference; its own lane answers and buries it.
      bytes <= 64 * KIB ? expected.accepted : expected.tooLargeByReference,
      ({ key }) => ({ value: padded(key, bytes), codec: CODECS[codec] }),
      { partition: 'other' },
    ),
  ]);
}

/** JSON text within a JSON string. */
function otherFields(): PoisonKind[] {
  const texts: [string, string][] = [
    ['hello', 'hello'],
    ['empty', ''],
    ['5,000 arrays', arrays(5_000)],
    ['30,000 arrays', arrays(30_000)],
    ['3,000 objects', objects(3_000)],
    ['__proto__', '{"__proto__":{"toString":1}}'],
    ['a million as 1e6', '{"a":1e6}'],
  ];
  const quoted = (text: string): string => JSON.stringify(text);
  return texts.flatMap(([name, text]) => [
    // This map may have any names: here otherFieldsJson is an ordinary entry.
    messageKind(
      `senderCustomerInfo.otherFieldsJson: ${name}`,
      expected.accepted,
      ({ key }) => ({ value: umaQuoteJson(key, `,"senderCustomerInfo":{"otherFieldsJson":${quoted(text)}}`) }),
      QUOTES,
    ),
    messageKind(`an unknown field otherFieldsJson: ${name}`, expected.invalid, ({ key }) => ({
      value: transferJson(key, `,"otherFieldsJson":${quoted(text)}`),
    })),
    messageKind(
      `source.otherFieldsJson: ${name}`,
      { ...expected.invalid, answers: ['INVALID', 'ACCEPTED', 'REFUSED'], burials: ['no', 'UNREADABLE'] },
      ({ key }) => ({
        value: quoteJson(key).replace('"source":{', () => `"source":{"otherFieldsJson":${quoted(text)},`),
      }),
      QUOTES,
    ),
    messageKind(
      `source.otherFieldsJson, within an object: ${name}`,
      { ...expected.invalid, answers: ['INVALID', 'ACCEPTED', 'REFUSED'], burials: ['no', 'UNREADABLE'] },
      ({ key }) => {
        const inner = quoted(`{"otherFieldsJson":${quoted(text)}}`);
        return { value: quoteJson(key).replace('"source":{', () => `"source":{"otherFieldsJson":${inner},`) };
      },
      QUOTES,
    ),
  ]);
}

function deepJson(): PoisonKind[] {
  const deep: [string, string][] = [
    ['5,000 arrays', arrays(5_000)],
    ['30,000 arrays', arrays(30_000)],
    ['5,000 objects', objects(5_000)],
    ['10,000 objects', objects(10_000)],
  ];
  return deep.flatMap(([name, text]) => [
    messageKind(`${name} as the value`, expected.unreadable, () => ({ value: text })),
    messageKind(`${name} in an unknown field`, expected.unreadable, ({ key }) => ({
      value: transferJson(key, `,"x":${text}`),
    })),
    messageKind(`${name} as an amount`, expected.unreadable, ({ key }) => ({
      value: transferJson(key, '', text),
    })),
    messageKind(
      `${name} in senderCustomerInfo`,
      expected.unreadable,
      ({ key }) => ({ value: quoteJson(key, `,"senderCustomerInfo":{"x":${text}}`) }),
      QUOTES,
    ),
  ]);
}

function oddJson(): PoisonKind[] {
  const unknownFields = (count: number): string =>
    Array.from({ length: count }, (_, index) => `,"f${index}":1`).join('');
  const either = { ...expected.invalid, answers: ['ACCEPTED', 'INVALID', 'REFUSED'] } as const;
  const rows: [string, PoisonKind['expected'], string | ((key: string) => string)][] = [
    ['1,000 unknown fields', expected.invalid, unknownFields(1_000)],
    ['6,500 unknown fields', expected.invalid, unknownFields(6_500)],
    [
      '6,500 unknown fields in the source',
      expected.invalid,
      (key) => transferJson(key).replace('"source":{', () => `"source":{"y":1${unknownFields(6_000)},`),
    ],
    ['an unknown field with a name of 60 KB', expected.invalid, `,"${'x'.repeat(60_000)}":1`],
    [
      '50 unknown fields with names of 1 KB',
      expected.invalid,
      Array.from({ length: 50 }, (_, index) => `,"${index}${'x'.repeat(1_000)}":1`).join(''),
    ],
    ['an unknown field __proto__', expected.invalid, ',"__proto__":{"amount":5}'],
    ['an unknown field constructor', expected.invalid, ',"constructor":{"prototype":1}'],
    ['an unknown field toJSON', expected.invalid, ',"toJSON":1'],
    ['an unknown field rawJSON', expected.invalid, ',"rawJSON":"1"'],
    ['an unknown field $int64', expected.invalid, ',"$int64":"1"'],
    ['an unknown field with an empty name', expected.invalid, ',"":1'],
    ['an amount that is there twice', expected.unreadable, ',"amount":200'],
    ['an amount as rawJSON', expected.invalid, (key) => transferJson(key, '', '{"rawJSON":"100"}')],
    ['an amount as $int64', expected.invalid, (key) => transferJson(key, '', '{"$int64":"100"}')],
    ['an amount of 50,000 digits', expected.invalid, (key) => transferJson(key, '', '9'.repeat(50_000))],
    ['an amount of 1e400', expected.invalid, (key) => transferJson(key, '', '1e400')],
    ['an amount of -0', { ...either, answers: ['REFUSED', 'INVALID'] }, (key) => transferJson(key, '', '-0')],
    [
      'half a surrogate pair in an account',
      expected.invalid,
      (key) => transferJson(key).replace('payer-x', 'payer-\\ud800-x'),
    ],
    ['a null character in an account', either, (key) => transferJson(key).replace('payer-x', 'payer-\\u0000-x')],
    ['a byte order mark', { ...either, burials: ['no', 'UNREADABLE'] }, (key) => `\ufeff${transferJson(key)}`],
    ['an account of 60 KB', either, (key) => transferJson(key).replace('payer-x', 'x'.repeat(60_000))],
  ];
  return [
    ...rows.map(([name, outcome, value]) =>
      messageKind(`JSON with ${name}`, outcome, ({ key }) => ({
        value: typeof value === 'function' ? value(key) : transferJson(key, value),
      })),
    ),
    messageKind(
      'JSON with senderCustomerInfo.__proto__',
      either,
      ({ key }) => ({ value: quoteJson(key, ',"senderCustomerInfo":{"__proto__":"x","constructor":"y"}') }),
      QUOTES,
    ),
    messageKind(
      'JSON with 5,000 entries in senderCustomerInfo',
      expected.invalid,
      ({ key }) => ({
        value: quoteJson(key, `,"senderCustomerInfo":{"y":"1"${unknownFields(5_000).replaceAll(':1', ':"1"')}}`),
      }),
      QUOTES,
    ),
    messageKind(
      'JSON with 5,000 wrong entries in senderCustomerInfo',
      expected.invalid,
      ({ key }) => ({ value: quoteJson(key, `,"senderCustomerInfo":{"y":1${unknownFields(5_000)}}`) }),
      QUOTES,
    ),
    messageKind('expires-at of 900 KB', { ...expected.invalid, burials: ['no', 'TOO_LARGE'] }, () => ({
      headers: [JSON_HEADER, ['expires-at', '2'.repeat(900_000)]],
    })),
    messageKind('expires-at with no value', { ...expected.invalid, answers: ['INVALID', 'ACCEPTED'] }, () => ({
      headers: [JSON_HEADER, ['expires-at', null]],
    })),
    messageKind('expires-at in the year 275760', { ...expected.invalid, answers: ['INVALID', 'ACCEPTED'] }, () => ({
      headers: [JSON_HEADER, ['expires-at', '9999-12-31T23:59:59.999999999999999999+14:00']],
    })),
  ];
}

/** Avro states a length before the content, so the length can lie. More of it: packages/contract/test/registry.test.ts. */
function avro(): PoisonKind[] {
  const transfer = (key: string): object => ({
    source: { accountId: 'ExternalAccount:payer-x' },
    destination: { accountId: `InternalAccount:${key}-x` },
    amount: 100n,
  });
  const quote = (key: string): object => ({
    source: { sourceType: 'ACCOUNT', accountId: `InternalAccount:${key}-x`, otherFieldsJson: null },
    destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:payee-x', otherFieldsJson: null },
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: 1000n,
    lookupId: null,
    immediatelyExecute: false,
    description: null,
    purposeOfPayment: null,
    senderCustomerInfo: null,
  });
  const HEAD_BYTES = 5;
  const lengths: [string, bigint][] = [
    ['-1', -1n],
    ['2^31', 2n ** 31n],
    ['2^53', 2n ** 53n],
    ['2^62', 2n ** 62n],
    ['the lowest int64', -(2n ** 63n)],
  ];
  /** Replaces the last field, a map that was null: the union's branch, then the blocks. */
  const withMap = async (encode: (record: object) => Promise<Buffer>, key: string, blocks: Buffer): Promise<Buffer> =>
    Buffer.concat([(await encode(quote(key))).subarray(0, -1), zigzag(1n), blocks]);
  return [
    ...lengths.map(([name, length]) =>
      messageKind(`Avro with a text of ${name} bytes`, expected.unreadable, async ({ encode, key }) => ({
        value: Buffer.concat([(await encode(transfer(key))).subarray(0, HEAD_BYTES), zigzag(length), Buffer.from('x')]),
        headers: [],
      })),
    ),
    ...lengths.map(([name, count]) =>
      messageKind(
        `Avro with a map of ${name} entries`,
        expected.unreadable,
        async ({ encode, key }) => ({
          value: await withMap(encode, key, Buffer.concat([zigzag(count), Buffer.alloc(20)])),
          headers: [],
        }),
        QUOTES,
      ),
    ),
    messageKind(
      'Avro with a map of 30,000 empty entries, all of them there',
      { ...expected.invalid, answers: ['INVALID', 'REFUSED'], burials: ['no', 'UNREADABLE'] },
      async ({ encode, key }) => ({
        value: await withMap(encode, key, Buffer.concat([zigzag(30_000n), Buffer.alloc(60_001)])),
        headers: [],
      }),
      QUOTES,
    ),
    ...[0x00, 0xff].map((byte) =>
      messageKind(
        `Avro with a schema id of the bytes ${byte}`,
        { ...expected.unreadable, burials: ['UNREADABLE', 'UNKNOWN_SCHEMA'] },
        () => ({ value: Buffer.from([0, byte, byte, byte, byte, 1, 2, 3]), headers: [] }),
      ),
    ),
  ];
}
