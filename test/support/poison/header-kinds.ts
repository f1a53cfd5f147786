/** Poison in headers: names and values that our clients never write, too many headers, and headers that are too large. */
import { laneOf } from 'payment-processor-contract/keys';
import { CODECS, type HeaderList } from '../record-batch.ts';
import { expected, JSON_HEADER, messageKind, type PoisonFamilies, type PoisonKind } from './kinds.ts';

const KIB = 1024;
/** With a header of this size, a message just fits into a batch of 1 MiB. */
const NEARLY_A_BATCH_BYTES = KIB * KIB - 600;

const many = (count: number, name: (index: number) => string): HeaderList =>
  Array.from({ length: count }, (_, index) => [name(index), 'x'] as const);

/** Each is tried on a good command, an unreadable one and one that must be moved. */
const ODD_HEADERS: readonly (readonly [string, HeaderList])[] = [
  ['a header with no value', [['x', null]]],
  ['a header with an empty value', [['x', '']]],
  ['a header named constructor', [['constructor', 'x']]],
  ['a header named __proto__', [['__proto__', 'x']]],
  ['a header named toString', [['toString', 'x']]],
  ['a header named hasOwnProperty, with no value', [['hasOwnProperty', null]]],
  ['a header with an empty name', [['', 'x']]],
  ['a header whose name is not UTF-8', [[Buffer.from([0xff, 0xfe, 0x80]), 'x']]],
  ['a header whose value is not UTF-8', [['x', Buffer.from([0xff, 0xfe, 0x80])]]],
  [
    'two headers of one name, the first with no value',
    [
      ['x', null],
      ['x', 'x'],
    ],
  ],
  [
    'headers of our own dead letters',
    [
      ['dlq-reason', 'x'],
      ['dlq-by-reference', 'true'],
      ['dlq-value-bytes', '1e3'],
    ],
  ],
  [
    'headers of our own results',
    [
      ['replayed', 'true'],
      ['in-reply-to', 'x'],
      ['ce_subject', null],
    ],
  ],
  [
    'traces with no value',
    [
      ['traceparent', null],
      ['tracestate', null],
      ['correlation-id', null],
    ],
  ],
  ['a command id with no value', [['ce_id', null]]],
  ['a command id that is not UTF-8', [['ce_id', Buffer.from([0xff, 0xc0, 0x00])]]],
  ['a correlation id with line breaks and a null character', [['correlation-id', 'a\r\nx: y\u0000']]],
  // Together with the content type, as many headers as a command may have.
  ['1,999 headers of one name', many(1_999, () => 'x')],
];

/** Too large for kafkajs, for a dead letter or for a copy in another partition; each has its own expected outcome. */
const LARGE_HEADERS: readonly (readonly [string, HeaderList, keyof typeof CODECS])[] = [
  ['2,001 headers of one name', many(2_000, () => 'x'), 'none'],
  ['10,000 headers', many(10_000, (index) => `h${index}`), 'none'],
  ['60,000 headers', many(60_000, (index) => `h${index}`), 'none'],
  ['60,000 headers of one name', many(60_000, () => 'x'), 'none'],
  ['a header of 900 KB', [['x', Buffer.alloc(900_000, 0x61)]], 'none'],
  ['a header name of 900 KB', [['x'.repeat(900_000), 'x']], 'none'],
  ['a header that fills the batch', [['x', Buffer.alloc(NEARLY_A_BATCH_BYTES, 0x61)]], 'none'],
  ['headers of 3 MiB in a small batch', [['x', Buffer.alloc(3 * KIB * KIB, 0x61)]], 'gzip'],
  ['headers of 6 MiB in a small batch', [['x', Buffer.alloc(6 * KIB * KIB, 0x61)]], 'zstd'],
  ['a command id of 900 KB', [['ce_id', 'x'.repeat(900_000)]], 'none'],
  ['a trace state of 900 KB', [['tracestate', 'x'.repeat(900_000)]], 'none'],
  ['250,000 headers in a small batch', many(250_000, () => ''), 'zstd'],
];

export const HEADER_FAMILIES: PoisonFamilies = {
  'odd headers': ODD_HEADERS.flatMap(([name, headers]) => [
    messageKind(`${name}, on a good command`, expected.accepted, () => ({ headers: [JSON_HEADER, ...headers] })),
    messageKind(`${name}, on an unreadable one`, expected.unreadable, () => ({ headers, value: 'no command' })),
    messageKind(`${name}, on one that is moved`, expected.accepted, () => ({ headers: [JSON_HEADER, ...headers] }), {
      partition: 'other',
    }),
  ]),
  'large headers': LARGE_HEADERS.flatMap(([name, headers, codec]) => [
    messageKind(`${name}, on a good command`, { ...expected.tooLarge, copy: 'either' }, () => ({
      headers: [JSON_HEADER, ...headers],
      codec: CODECS[codec],
    })),
    messageKind(
      `${name}, on an unreadable one`,
      { ...expected.unreadable, burials: ['UNREADABLE', 'TOO_LARGE'], copy: 'either' },
      () => ({ headers, value: 'no command', codec: CODECS[codec] }),
    ),
    messageKind(
      `${name}, on one that is moved`,
      expected.tooLargeByReference,
      () => ({ headers: [JSON_HEADER, ...headers], codec: CODECS[codec] }),
      { partition: 'other' },
    ),
  ]),
  'content types': contentTypes(),
  'moved headers': movedHeaders(),
};

function contentTypes(): PoisonKind[] {
  const odd: [string, HeaderList][] = [
    ['with no value', [['content-type', null]]],
    ['constructor', [['content-type', 'constructor']]],
    ['JSON second', [['content-type', null], JSON_HEADER]],
    ['of 900 KB', [['content-type', `application/json;${'x'.repeat(900_000)}`]]],
  ];
  return odd.map(([name, headers]) =>
    messageKind(
      `a content type ${name}`,
      {
        ...expected.unreadable,
        answers: ['INVALID', 'ACCEPTED'],
        burials: ['UNREADABLE', 'TOO_LARGE', 'no'],
        copy: 'either',
      },
      () => ({ headers }),
    ),
  );
}

/** Headers with the original position of a moved command. Any publisher can write them. */
function movedHeaders(): PoisonKind[] {
  const absurd = ['4294967296', '-1', '1e3', '9'.repeat(18), '9'.repeat(19), '0x10', '', ' 1', '١', '2147483648'];
  const names = ['moved-partition', 'moved-offset', 'moved-timestamp'] as const;
  const kinds = names.flatMap((name) =>
    absurd.map((text) =>
      messageKind(
        `${name}: ${JSON.stringify(text)}`,
        // A first publication far in the past makes the command old enough to expire.
        name === 'moved-timestamp' ? { ...expected.accepted, answers: ['ACCEPTED', 'EXPIRED'] } : expected.accepted,
        ({ nowMs, lane }) => {
          const headers = { 'moved-partition': String(lane), 'moved-offset': '0', 'moved-timestamp': String(nowMs) };
          return { headers: [JSON_HEADER, ...Object.entries({ ...headers, [name]: text })] };
        },
      ),
    ),
  );
  return [
    ...kinds,
    messageKind('moved-* headers with no value', expected.accepted, () => ({
      headers: [JSON_HEADER, ...names.map((name) => [name, null] as const)],
    })),
    messageKind('moved-* headers of another lane', expected.accepted, ({ nowMs, key }) => ({
      headers: [
        JSON_HEADER,
        ['moved-partition', String(laneOf(`${key}-x`, 3))],
        ['moved-offset', '17'],
        ['moved-timestamp', String(nowMs)],
      ],
    })),
    messageKind('moved-* headers on an unreadable command', expected.unreadable, ({ nowMs, lane }) => ({
      headers: [
        ['moved-partition', String(lane)],
        ['moved-offset', '9'.repeat(18)],
        ['moved-timestamp', String(nowMs)],
      ],
      value: 'no command',
    })),
  ];
}
