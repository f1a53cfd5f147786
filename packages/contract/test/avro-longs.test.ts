/** Longs are bigint end to end (invariant I8), those within a double by a way of their own. */
import avsc from 'avsc';
import { expect, test } from 'vitest';
import { AVRO_OPTIONS } from '../src/schemas.ts';

const typeOf = (name: string): avsc.Type =>
  avsc.Type.forSchema(
    { type: 'record', name: 'Holder', fields: [{ name: 'value', type: name }] },
    {
      ...AVRO_OPTIONS,
    },
  );
const [long, int] = [typeOf('long'), typeOf('int')];

const DOUBLE_MAX = 2n ** 53n - 1n;
const INT64_MAX = 2n ** 63n - 1n;

test.each([0n, 1n, 63n, 64n, 2n ** 30n, DOUBLE_MAX, DOUBLE_MAX + 1n, DOUBLE_MAX + 2n, INT64_MAX - 1n, INT64_MAX])(
  '%s, and as far below zero, is read as it was written',
  (value) => {
    for (const signed of [value, -value, -value - 1n])
      expect(long.fromBuffer(long.toBuffer({ value: signed }))).toEqual({ value: signed });
  },
);

test('what was written as an int is read as a long', () => {
  expect(long.fromBuffer(int.toBuffer({ value: -7 }), long.createResolver(int))).toEqual({ value: -7n });
});

test.each([7, '7', null, 2n ** 63n])('%s is no long', (value) => {
  expect(() => long.toBuffer({ value })).toThrow();
});

test('bytes that end within a long are no value', () => {
  expect(() => void long.fromBuffer(Buffer.of(0x80, 0x80))).toThrow('truncated');
});
