/** Values of options that a command could not keep to. Pure. */
import { expect, test } from 'vitest';
import { durationOption } from '../src/option-values.ts';

test('a duration that no timer takes is refused: it would be over at once', () => {
  const parsed = (text: string): unknown => durationOption('--wait-for <duration>', '', '60s').parseArg?.(text, 0);
  expect(parsed('596h')).toBe(596 * 3_600_000);
  expect(() => parsed('597h')).toThrow(/at most 24 days/);
});
