/** The alerts of a game day are the chart's: scaling changes only durations. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { coverageProblems, FAULTS } from './fault-list.ts';
import { durationMs, scaledExpression, scaledRules, type AlertRules } from './time-scale.ts';

const FACTOR = 20;
const rules = parse(await readFile(new URL('../../helm/files/alerts.yaml', import.meta.url), 'utf8')) as AlertRules;
const names = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));

test.each([
  ['rate(payments_commits_total[1h]) > 0.144', 'rate(payments_commits_total[180s]) > 0.144'],
  ['deriv(sum(payments_lanes)[10m:30s]) > 0', 'deriv(sum(payments_lanes)[30s:1500ms]) > 0'],
  ['max_over_time(payments_ready[1h30m:]) == 1', 'max_over_time(payments_ready[270s:]) == 1'],
  [
    'payments_ready offset 5m unless payments_ready offset -1m',
    'payments_ready offset 15s unless payments_ready offset -3s',
  ],
  ['max by (job) (payments_lag_ends_age_seconds) > 60', 'max by (job) (payments_lag_ends_age_seconds) > 3'],
  [
    'payments_unfinished_oldest_seconds{state="DOUBTFUL"} >= 300',
    'payments_unfinished_oldest_seconds{state="DOUBTFUL"} >= 15',
  ],
])('%s becomes %s', (expression, scaled) => {
  expect(scaledExpression(expression, FACTOR)).toBe(scaled);
});

test.each([
  ['a bound of a histogram', 'rate(x_bucket{le=~"30(\\\\.0)?"}[30s]) > 0.5', '30(\\\\.0)?'],
  ['a count', 'increase(payments_moved_total[20s]) > 10', '> 10'],
  ['the derivative of an age', 'deriv(max(payments_lag_oldest_seconds)[5m:30s]) > 0.9', '> 0.9'],
  ['seconds per second', 'rate(payments_poll_budget_wait_seconds_total[15m]) > 0.8', '> 0.8'],
  ['a delay of the process', 'max(nodejs_eventloop_lag_p99_seconds) > 0.5', '> 0.5'],
])('%s stays', (_, expression, kept) => {
  expect(scaledExpression(expression, FACTOR)).toContain(kept);
});

test('only numbers change in the rules; names, labels and texts stay', () => {
  const withoutNumbers = (text: string): string => text.replaceAll(/\d+(\.\d+)?(ms|[smhdwy])?/g, '#');
  const scaled = scaledRules(rules, FACTOR);
  expect(withoutNumbers(JSON.stringify(scaled))).toBe(withoutNumbers(JSON.stringify(rules)));
  for (const [index, group] of rules.groups.entries()) {
    for (const [place, rule] of group.rules.entries()) {
      const after = scaled.groups[index]?.rules[place];
      expect(after).toMatchObject({ alert: rule.alert, labels: rule.labels, annotations: rule.annotations });
      expect(durationMs(after?.for ?? '0s') * FACTOR).toBe(durationMs(rule.for ?? '0s'));
    }
  }
});

test('every alert is raised by a fault', () => {
  expect(coverageProblems(names)).toEqual([]);
});

test('an alert without a fault is reported, and so is a name that is no alert', () => {
  expect(coverageProblems([...names, 'PaymentsNew'])).toEqual([expect.stringContaining('PaymentsNew')]);
  const [first] = names;
  expect(coverageProblems(names.slice(1))).toEqual([`${first}: not an alert`]);
});

test('the faults have different names', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
});
