/** What is said of single values and of failures. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { PublishError, type PublishProblem } from 'payment-processor-client/internal/kafka/record-publisher';
import { ageText } from '../src/age-text.ts';
import { nextCommands } from '../src/commands/unknown.ts';
import { amountText } from '../src/amount-text.ts';
import { lagFindings } from '../src/doctor/kafka-checks.ts';
import { CliFailure } from '../src/exit-codes.ts';
import { failureOf, oncePublished } from '../src/failures.ts';
import { keyCommand } from '../src/key-command.ts';
import { notBegun } from '../src/ledger.ts';
import { durationOption } from '../src/option-values.ts';
import { entryAt, unknown } from '../../../test/ledger/entries.ts';

test.each([
  [5n, 'USD', 2, '0.05 USD'],
  [-5n, 'USD', 2, '-0.05 USD'],
  [12345n, 'USD', 2, '123.45 USD'],
  [7n, 'JPY', 0, '7 JPY'],
  [9223372036854775807n, 'BTC', 8, '92233720368.54775807 BTC'],
  [5n, 'XYZ', null, '5 smallest units of XYZ'],
  [5n, 'XYZ', -1, '5 smallest units of XYZ'],
  [5n, 'XYZ', 1_000_000, '5 smallest units of XYZ'],
  [5n, null, null, '5 smallest units'],
  [null, 'USD', 2, null],
])('an amount is shown with the decimals that its currency has: %s %s, %s', (amount, code, decimals, text) => {
  const currency = { code, name: null, symbol: null, decimals, otherFieldsJson: null };
  expect(amountText(amount, code === null ? null : currency)).toBe(text);
});

test.each([
  [0, '0 s'],
  [59, '59 s'],
  [61, '1 min 1 s'],
  [3_600, '1 h'],
  [90_061, '1 d 1 h'],
])('an age of %i seconds is %s', (seconds, text) => {
  expect(ageText(seconds)).toBe(text);
});

test.each([
  ['execute-quote', {}, '2026-01-24T12:00:00.000Z'],
  ['reject-transaction', {}, '2026-01-24T12:00:00.000Z'],
  ['transfer-in', {}, '2026-01-31T11:00:00.000Z'],
  ['transfer-in', { turnedAway: 1 }, '2026-01-31T09:00:00.000Z'],
] as const)('the transaction of an UNKNOWN %s %j is looked for since %s', (commandType, changes, since) => {
  const known = entryAt(commandType);
  const origin = { ...known.origin, timestampMs: Date.parse('2026-01-31T10:00:00Z') };
  const firstSentMs = Date.parse('2026-01-31T12:00:00Z');
  expect(nextCommands({ ...unknown({ ...known, origin }), firstSentMs, ...changes }).look).toMatch(
    new RegExp(`--start-date ${since}$`),
  );
});

test('the lines to copy work for a key that looks like an option', () => {
  const { resolve, show } = nextCommands(unknown({ ...entryAt('transfer-in'), key: '-A' }));
  expect(show).toMatch(/ show -- -A$/);
  expect(resolve).toMatch(/ resolve --decision '.*' --expected-revision 1 --reason '.*' -- -A$/);
});

test.each(['order-17', '$(id)', 'a;b>c', "it's", String.raw`inv\1`, '`id`', '-$1', '{a,b}', '!!', '#1', '~'])(
  'a shell that is given the line about the key %s reads that key',
  (key) => {
    const line = keyCommand('show', key, '--output json');
    const words = execFileSync('bash', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' })
      .trimEnd()
      .split('\n');
    expect(words).toEqual(
      key.startsWith('-') ? ['show', '--output', 'json', '--', key] : ['show', key, '--output', 'json'],
    );
  },
);

test('zsh, which would replace it by a path, gets `=ls` in quotes', () => {
  expect(keyCommand('show', '=ls')).toBe("show '=ls'");
});

test('a duration that no timer takes is refused: it would be over at once', () => {
  const parsed = (text: string): unknown => durationOption('--wait-for <duration>', '', '60s').parseArg?.(text, 0);
  expect(parsed('596h')).toBe(596 * 3_600_000);
  expect(() => parsed('597h')).toThrow(/at most 24 days/);
  for (const none of ['0s', '000ms']) expect(() => parsed(none)).toThrow(/more than 0/);
});

test.each<[PublishProblem, string]>([
  ['NOT_CONFIRMED', 'noResult'],
  ['NOT_WRITTEN', 'failed'],
  ['TOPIC_MISSING', 'failed'],
])('a publication that is %s ends with the exit code of %s', (problem, reason) => {
  expect(failureOf(new PublishError(problem, 'x'))).toMatchObject({ reason, message: 'x' });
});

test('what cannot be read of something that is published does not take it back', async () => {
  const refused = new CliFailure('refused', 'no');
  await expect(oncePublished('it is written', Promise.reject(refused))).rejects.toBe(refused);
  await expect(oncePublished('it is written', Promise.reject(new Error('no broker')))).rejects.toMatchObject({
    reason: 'noResult',
    message: 'it is written, but its outcome cannot be read: no broker',
  });
});

test('a failure shows a line break of a publisher within its line', () => {
  const failure = new CliFailure('refused', ['the key order\nit paid nothing', '  not read: \u2028']);
  expect(failure.message).toBe('the key order\\u000ait paid nothing\n  not read: \\u2028');
});

test('a lane without an owner was never opened, or its ledger is lost: that nothing waits there is not known', () => {
  const lanes = [2, 0, 1].map((partition) => ({ partition }));
  expect(notBegun(lanes, new Set([0, 1, 2]))).toEqual([]);
  expect(notBegun(lanes, new Set([1]))).toEqual([
    'the ledger of lanes 0, 2, which no processor has opened yet, or has only just opened, or which was lost',
  ]);
});

test('doctor does not say that every command is admitted of a topic that is hidden, or whose records were deleted', () => {
  const lane = {
    topic: 'seen',
    lane: 0,
    endOffset: 5n,
    groupOffset: 5n,
    lag: 0n,
    deleted: 0n,
    oldestTimestampMs: null,
  };
  const late = { ...lane, lag: 2n, oldestTimestampMs: 0 };
  const admitted = { status: 'ok', message: 'every command is admitted' };
  const hidden = { status: 'not-checked', message: 'because hidden does not exist, or Kafka hides it' };
  expect(lagFindings({ lanes: [lane], missing: [] }, [], 0)).toMatchObject([admitted]);
  expect(lagFindings({ lanes: [lane], missing: ['hidden'] }, [], 0)).toMatchObject([hidden]);
  expect(lagFindings({ lanes: [{ ...lane, deleted: 2n }], missing: [] }, [], 0)).toMatchObject([{ status: 'problem' }]);
  expect(lagFindings({ lanes: [late], missing: ['hidden'] }, [], 1_000)).toMatchObject([hidden]);
  expect(lagFindings({ lanes: [late], missing: ['hidden'] }, [], 61_000)).toMatchObject([
    hidden,
    { status: 'problem' },
  ]);
});
