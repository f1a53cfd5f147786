/** Parsing is the same with and without asking the platform for each number; and what an integer is. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { int64Of, int64ValueOf, parseLossless } from '../src/lossless-json.ts';

const platformJson = JSON as unknown as {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { rawJSON: string };
  parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
};

/** Each number by its source, whatever it costs. */
function parseByReviver(text: string): unknown {
  return platformJson.parse(text, (_name, value, { source }) =>
    typeof value === 'number' && source !== undefined ? platformJson.rawJSON(source) : value,
  );
}

/** All that can be observed of a value: the order of members, whose they are, prototypes, and each number's text. */
function told(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return [typeof value, value];
  if (platformJson.isRawJSON(value)) return ['number', value.rawJSON];
  if (depth > 300) return 'deep';
  const kind = Array.isArray(value) ? 'list' : Object.getPrototypeOf(value) === Object.prototype ? 'object' : 'odd';
  return [
    kind,
    Object.getOwnPropertyNames(value).map((name) => [
      name,
      told(Object.getOwnPropertyDescriptor(value, name)?.value, depth + 1),
    ]),
  ];
}

function outcome(parse: () => unknown): string {
  try {
    return JSON.stringify(told(parse()));
  } catch (error) {
    return String(error);
  }
}

const digits = fc.string({ unit: fc.integer({ min: 0, max: 9 }).map(String), minLength: 1, maxLength: 18 });
const number = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('', '-'),
      digits.map((some) => some.replace(/^0+(?=\d)/, '')),
      fc.oneof(
        fc.constant(''),
        digits.map((some) => `.${some}`),
      ),
      fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.constantFrom('e0', 'E5', 'e+3', 'e-9', 'e400')),
    )
    .map((parts) => parts.join('')),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer({ min: 0, max: 10 ** 9 }).map((value) => String(value / 1000)),
  fc.constantFrom('-0', '0', '-0.0', '0.0', '1e400', '9007199254740993', '999999999999999', '1000000000000000'),
  fc.constantFrom('1.10', '0.000001', '0.0000001', '123456789.123456', '1234567890.123456', '0.1', '-0.5', '5e-324'),
);
const text = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '12:30:00.000Z',
      ', 1.10 ,',
      ':-0}',
      '\\u0031',
      '\ud800',
      '__proto__',
      'a',
      'constructor',
      '1',
      '0',
    ),
  )
  .map((value) => JSON.stringify(value));
const space = fc.constantFrom('', '', ' ', '\n\t');
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    number,
    text,
    fc.constantFrom('true', 'null', '{}', '[]'),
    fc
      .tuple(space, fc.array(tie('json'), { maxLength: 5 }))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},${gap}`)}]`),
    fc
      .tuple(space, fc.array(fc.tuple(text, tie('json')), { maxLength: 5 }))
      .map(([gap, members]) => `{${members.map(([name, value]) => `${name}${gap}:${gap}${value}${gap}`).join(',')}}`),
  ),
}));
/** Whole, or with a character of it changed. */
const document = fc.oneof(
  { weight: 3, arbitrary: json },
  fc
    .tuple(json, fc.nat(), fc.constantFrom('', '0', '.', 'e', '-', '"', '\\', ',', ']', '}', ' ', '\u00a0'))
    .map(([whole, at, other]) => whole.slice(0, at % whole.length) + other + whole.slice((at % whole.length) + 1)),
);

test('whatever the document', () => {
  const property = fc.property(document, (from) => {
    expect(outcome(() => parseLossless(from))).toBe(outcome(() => parseByReviver(from)));
  });
  fc.assert(property, { numRuns: 10_000 });
});

test('each number by itself, and in its places', () => {
  const property = fc.property(number, space, (from, gap) => {
    for (const whole of [from, `[${gap}${from}${gap}]`, `{"a":${gap}${from}${gap},"__proto__":${from}}`]) {
      expect(outcome(() => parseLossless(whole))).toBe(outcome(() => parseByReviver(whole)));
    }
  });
  fc.assert(property, { numRuns: 5_000 });
});

test.each([99, 100, 101, 102, 1_000, 100_000])('%i lists and objects within one another', (depth) => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    for (const inner of ['1', '1.10']) {
      const from = open.repeat(depth) + inner + close.repeat(depth);
      expect(outcome(() => parseLossless(from))).toBe(outcome(() => parseByReviver(from)));
    }
  }
});

test('text of many delimiters, digits and spaces takes time in proportion', () => {
  for (const some of [',', ', ', ':1', '1', ' ', '1.', '-', '[1']) {
    const from = `"${some.repeat(2 ** 20 / some.length)}x"`;
    const start = performance.now();
    parseLossless(from);
    expect(performance.now() - start).toBeLessThan(2_000);
  }
});

test.each([
  ['1000', 1000n],
  ['1000.0', 1000n],
  ['-1000.000', -1000n],
  ['1e3', 1000n],
  ['1.5E+1', 15n],
  ['1200e-2', 12n],
  ['0.0', 0n],
  ['-0', 0n],
  ['0e400', 0n],
  ['9223372036854775807.0', 9223372036854775807n],
  ['-9223372036854775808.0', -9223372036854775808n],
])('%s has the value of an integer', (text, value) => {
  expect(int64ValueOf(parseLossless(text))).toBe(value);
});

test.each([
  '1000.5',
  '0.1',
  '1e-1',
  '9223372036854775808.0',
  '1e19',
  '1e400',
  '1e99999999999999999999',
  `1.${'0'.repeat(99)}`,
])('%s does not', (text) => {
  expect(int64ValueOf(parseLossless(text))).toBeNull();
});

test('what is no number has no value of an integer, and what is not written as an integer is none for commands', () => {
  for (const text of ['"5"', 'null', 'true', '[]', '{}']) expect(int64ValueOf(parseLossless(text))).toBeNull();
  for (const text of ['1000.0', '1e3']) expect(int64Of(parseLossless(text))).toBeNull();
});
