/** The report's tables, and parsing the output of Kafka's own tool. */
import { expect, test } from 'vitest';
import { describedPartitions } from './consumer-groups.ts';
import { isPassed, textOf, type GameDay } from './game-day-report.ts';
import type { Row } from './run-faults.ts';

const ROW: Row = {
  fault: 'service down',
  alert: 'PaymentsBreakerOpen',
  secondsToPending: 2.5,
  secondsToFiring: 9,
  action: 'doctor',
  pasted: ['cli doctor'],
  secondsToClear: 4.1,
  alsoFired: ['PaymentsOldestUnansweredTooOld'],
  problem: null,
};
const DAY: GameDay = { timeScale: 20, seconds: 61, rows: [ROW], commands: 120, wrong: [] };

test('a day passes if every alert fired and cleared, and every command was answered', () => {
  expect(isPassed(DAY)).toBe(true);
  expect(isPassed({ ...DAY, wrong: ['a command has no result'] })).toBe(false);
  expect(isPassed({ ...DAY, rows: [ROW, { ...ROW, secondsToClear: null, problem: 'did not clear' }] })).toBe(false);
});

test('the table names the factor, the times, other alerts and what went wrong', () => {
  const text = textOf({ ...DAY, rows: [{ ...ROW, secondsToClear: null, problem: 'did not clear' }] });
  expect(text).toContain('divided by 20');
  expect(text).toMatch(/service down +PaymentsBreakerOpen +2\.5 +9\.0 +never +doctor/);
  expect(text).toContain('also fired PaymentsOldestUnansweredTooOld');
  expect(text).toContain('service down: cli doctor');
  expect(text).toContain('service down, PaymentsBreakerOpen: did not clear');
});

test("partitions without a committed offset have no lag in Kafka's output", () => {
  const text = `
GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
g      t.v1   0          9               12              3    c-1          /127.0.0.1  c
g      t.v1   1          -               4               -    c-1          /127.0.0.1  c
`;
  expect(describedPartitions(text)).toEqual([
    { topic: 't.v1', partition: 0, committedOffset: 9n, endOffset: 12n, lag: 3n },
    { topic: 't.v1', partition: 1, committedOffset: null, endOffset: 4n, lag: null },
  ]);
});
