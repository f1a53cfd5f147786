/** Values that change single alerts. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, FULL_NAME, LEAST, merged, NAMESPACE, ofKind, render, template, type Values } from './chart.ts';
import { runTool } from './tools.ts';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
}

const withAlerts = (alerts: Values): Values =>
  merged(LEAST, { prometheusRule: { enabled: true, runbookBaseUrl: 'https://runbooks.example', alerts } });

async function rulesOf(values: Values): Promise<{ spec: unknown; rules: Map<string, Rule> }> {
  const spec = ofKind(await render(values), 'PrometheusRule')[0]?.spec as { groups: { rules: Rule[] }[] };
  return { spec, rules: new Map(spec.groups.flatMap(({ rules }) => rules).map((rule) => [rule.alert, rule])) };
}

describe('an alert named in the values', () => {
  it('is turned off, and no other', async () => {
    const usual = await rulesOf(withAlerts({}));
    const { rules } = await rulesOf(withAlerts({ PaymentsCommandsExpired: { enabled: false } }));
    expect([...usual.rules.keys()].filter((name) => !rules.has(name))).toEqual(['PaymentsCommandsExpired']);
  });

  it('has the threshold, severity and duration from the values, and Prometheus accepts it', async () => {
    const usual = await rulesOf(withAlerts({}));
    const { spec, rules } = await rulesOf(
      withAlerts({
        PaymentsOldestUnansweredTooOld: { threshold: 90.5, severity: 'critical', for: '7m' },
        PaymentsRetentionNear: { threshold: 1_000_000 },
        PaymentsServiceHeld: { expr: 'avg_over_time(payments_service_held[5m]) > 0.5' },
      }),
    );
    const before = usual.rules.get('PaymentsOldestUnansweredTooOld')!;
    expect(rules.get('PaymentsOldestUnansweredTooOld')).toEqual({
      ...before,
      expr: before.expr.replace('> 60', '> 90.5'),
      for: '7m',
      labels: { ...before.labels, severity: 'critical' },
    });
    expect(rules.get('PaymentsRetentionNear')?.expr).toMatch(/> 1000000$/);
    const ofRelease = `namespace="${NAMESPACE}",job="${FULL_NAME}"`;
    expect(rules.get('PaymentsServiceHeld')?.expr).toBe(`avg_over_time(payments_service_held{${ofRelease}}[5m]) > 0.5`);
    const untouched = [...rules.values()].filter(({ alert }) => !/TooOld|RetentionNear|ServiceHeld/.test(alert));
    expect(untouched).toEqual(untouched.map(({ alert }) => usual.rules.get(alert)));
    const folder = await mkdtemp(join(tmpdir(), 'payments-alerts-'));
    try {
      const file = join(folder, 'rendered.json');
      await writeFile(file, JSON.stringify(spec));
      expect(await runTool('promtool', ['check', 'rules', file])).toMatchObject({ code: 0 });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it.each<[string, Values, string]>([
    ['is not there', { PaymentsNoSuch: { enabled: false } }, 'PaymentsNoSuch: there is no such alert'],
    ['compares with several numbers', { PaymentsObjectiveMissedFast: { threshold: 1 } }, 'give the whole of it by'],
    ['is told what alerts have not', { PaymentsServiceHeld: { level: 'page' } }, 'level'],
  ])('is refused where it %s', async (_name, alerts, reason) => {
    const refused = await template(merged(EVERYTHING, { prometheusRule: { alerts } }));
    expect(refused).toMatchObject({ code: 1, text: expect.stringContaining(reason) as string });
  });
});
