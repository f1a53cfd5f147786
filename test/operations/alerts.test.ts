import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ALERT_CASES, type AlertCase } from './alert-cases.ts';
import { EVERYTHING, FULL_NAME, LEAST, merged, NAMESPACE, ofKind, render, template, type Values } from './chart.ts';
import { healthySeries, INTERVAL_SECONDS } from './metric-series.ts';
import { ROOT, runTool } from './tools.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Record<string, string>;
  readonly labels: Record<string, string>;
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

const ALERTS_FILE = join(ROOT, 'helm/files/alerts.yaml');
/** From the chart's values: half of LEDGER_RETENTION in seconds. */
const NUMBER_OF_VALUES = '302400';
/** A further alert would name no new cause: extend an existing one, or use the dashboard. */
const ALERTS_MAX = 25;

const rules = parse(await readFile(ALERTS_FILE, 'utf8')) as Rules;
const alerts = rules.groups.flatMap((group) => group.rules);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'payments-alerts-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function promtoolTest([when, minutes, changes, fires, says]: AlertCase): Promise<{ code: number; text: string }> {
  const file = join(folder, `${when.replaceAll(/\W+/g, '-')}.json`);
  const test = {
    rule_files: [ALERTS_FILE],
    evaluation_interval: '1m',
    tests: [
      {
        interval: `${INTERVAL_SECONDS}s`,
        input_series: changes === null ? [] : healthySeries(minutes, changes),
        promql_expr_test: [
          {
            expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: `${minutes}m`,
            exp_samples: [...fires].sort().map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
          },
        ],
        alert_rule_test: says === undefined ? [] : [ruleTest(says, minutes)],
      },
    ],
  };
  await writeFile(file, JSON.stringify(test));
  return runTool('promtool', ['test', 'rules', file]);
}

function ruleTest({ alert, instance, summary, ...labels }: NonNullable<AlertCase[4]>, minutes: number): object {
  const ofMember = { namespace: 'payments', job: 'processor', pod: instance, instance };
  const expected = { exp_labels: { ...ofMember, ...labels }, exp_annotations: { summary } };
  return { eval_time: `${minutes}m`, alertname: alert, exp_alerts: [expected] };
}

describe('the alerts', () => {
  it('are rules that Prometheus accepts', async () => {
    expect(await runTool('promtool', ['check', 'rules', ALERTS_FILE])).toMatchObject({ code: 0 });
  });

  it('each have a case below', () => {
    const tried = new Set(ALERT_CASES.flatMap(([, , , fires]) => fires));
    expect(alerts.map(({ alert }) => alert).filter((alert) => !tried.has(alert))).toEqual([]);
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    expect(alerts.length).toBeLessThanOrEqual(ALERTS_MAX);
  });

  it('each name their urgency and the fault', () => {
    for (const { annotations, labels } of alerts) {
      expect(['page', 'ticket']).toContain(labels['severity']);
      expect(annotations['summary']).toMatch(/^.{20,}\.$/);
    }
  });

  it.each(ALERT_CASES.map((alertCase) => ({ alertCase, when: alertCase[0], fires: alertCase[3] })))(
    'when $when: $fires',
    async ({ alertCase }) => {
      const success = expect.stringContaining('SUCCESS') as string;
      expect(await promtoolTest(alertCase)).toMatchObject({ code: 0, text: success });
    },
  );
});

const withAlerts = (change: Values = {}): Values =>
  merged(LEAST, { prometheusRule: { enabled: true, runbookBaseUrl: 'https://r.example', alerts: change } });

/** The alerts of the chart by name, which Prometheus accepts. */
async function rendered(values: Values): Promise<Map<string, Rule>> {
  const spec = ofKind(await render(values), 'PrometheusRule')[0]?.spec as unknown as Rules;
  const file = join(folder, 'rendered.json');
  await writeFile(file, JSON.stringify(spec));
  expect(await runTool('promtool', ['check', 'rules', file])).toMatchObject({ code: 0 });
  return new Map(spec.groups.flatMap(({ rules }) => rules).map((rule) => [rule.alert, rule]));
}

describe('the alerts as the chart renders them', () => {
  const ofRelease = `namespace="${NAMESPACE}",job="${FULL_NAME}"`;

  it('are the same alerts, accepted by Prometheus, each with its runbook, and select only this release', async () => {
    const found = [...(await rendered(EVERYTHING)).values()];
    expect(found.map(({ alert }) => alert)).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations, expr, labels } of found) {
      expect(annotations['runbook_url']).toBe(`https://runbooks.example/${alert}.md`);
      expect(labels['team']).toBe('payments');
      const selectors = [...expr.matchAll(/\b(?:payments|process|nodejs)_[a-z0-9_]+(\{[^}]*\})?/g)];
      expect(selectors.length).toBeGreaterThan(0);
      for (const [, matchers] of selectors) expect(matchers).toContain(ofRelease);
    }
  });

  it('take a threshold from the values', async () => {
    const text = await readFile(ALERTS_FILE, 'utf8');
    expect(alerts.filter(({ expr }) => expr.includes(NUMBER_OF_VALUES))).toHaveLength(1);
    expect(text).toContain('302400 s is half');
    expect((await rendered(withAlerts())).get('PaymentsRetentionNear')?.expr).toContain('> 302400');
    expect((await rendered(EVERYTHING)).get('PaymentsRetentionNear')?.expr).toContain(`> ${(14 * 86_400) / 2}`);
  });

  it('are turned off by name, and no other', async () => {
    const rules = await rendered(withAlerts({ PaymentsCommandsExpired: { enabled: false } }));
    expect(alerts.map(({ alert }) => alert).filter((name) => !rules.has(name))).toEqual(['PaymentsCommandsExpired']);
  });

  it('have the threshold, severity, duration and expression from the values, and the others stay', async () => {
    const usual = await rendered(withAlerts());
    const rules = await rendered(
      withAlerts({
        PaymentsOldestUnansweredTooOld: { threshold: 90.5, severity: 'critical', for: '7m' },
        PaymentsRetentionNear: { threshold: 1_000_000 },
        PaymentsServiceHeld: { expr: 'avg_over_time(payments_service_held[5m]) > 0.5' },
      }),
    );
    const before = usual.get('PaymentsOldestUnansweredTooOld')!;
    expect(rules.get('PaymentsOldestUnansweredTooOld')).toEqual({
      ...before,
      expr: before.expr.replaceAll('> 60', '> 90.5'),
      for: '7m',
      labels: { ...before.labels, severity: 'critical' },
    });
    expect(rules.get('PaymentsRetentionNear')?.expr).toMatch(/> 1000000$/);
    expect(rules.get('PaymentsServiceHeld')?.expr).toBe(`avg_over_time(payments_service_held{${ofRelease}}[5m]) > 0.5`);
    const untouched = [...rules.values()].filter(({ alert }) => !/TooOld|RetentionNear|ServiceHeld/.test(alert));
    expect(untouched).toEqual(untouched.map(({ alert }) => usual.get(alert)));
  });

  it.each<[string, Values, string]>([
    ['is not there', { PaymentsNoSuch: { enabled: false } }, 'PaymentsNoSuch: there is no such alert'],
    ['compares with several numbers', { PaymentsObjectiveMissedFast: { threshold: 1 } }, 'give the whole of it by'],
    ['is told what alerts have not', { PaymentsServiceHeld: { level: 'page' } }, 'level'],
  ])('are refused where a named one %s', async (_name, change, reason) => {
    const refused = await template(merged(EVERYTHING, { prometheusRule: { alerts: change } }));
    expect(refused).toMatchObject({ code: 1, text: expect.stringContaining(reason) as string });
  });
});
