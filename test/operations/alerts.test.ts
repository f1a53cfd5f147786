import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ALERT_CASES, type AlertCase } from './alert-cases.ts';
import { EVERYTHING, FULL_NAME, LEAST, merged, NAMESPACE, ofKind, render } from './chart.ts';
import { healthySeries, INTERVAL_SECONDS } from './metric-series.ts';
import { ROOT, runTool } from './tools.ts';

interface Rules {
  groups: {
    rules: { alert: string; expr: string; annotations: Record<string, string>; labels: Record<string, string> }[];
  }[];
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

async function promtoolTest({
  changes,
  fires,
  minutes,
  says,
  when,
}: AlertCase): Promise<{ code: number; text: string }> {
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

function ruleTest({ alert, instance, summary, ...labels }: NonNullable<AlertCase['says']>, minutes: number): object {
  const ofMember = { namespace: 'payments', job: 'processor', pod: instance, instance };
  const expected = { exp_labels: { ...ofMember, ...labels }, exp_annotations: { summary } };
  return { eval_time: `${minutes}m`, alertname: alert, exp_alerts: [expected] };
}

describe('the alerts', () => {
  it('are rules that Prometheus accepts', async () => {
    expect(await runTool('promtool', ['check', 'rules', ALERTS_FILE])).toMatchObject({ code: 0 });
  });

  it('each have a case below', () => {
    const tried = new Set(ALERT_CASES.flatMap(({ fires }) => fires));
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

  it.each(ALERT_CASES)('when $when: $fires', async (alertCase) => {
    expect(await promtoolTest(alertCase)).toMatchObject({
      code: 0,
      text: expect.stringContaining('SUCCESS') as string,
    });
  });
});

describe('the alerts as the chart renders them', () => {
  async function rendered(values: Parameters<typeof render>[0]) {
    const [rule] = ofKind(await render(values), 'PrometheusRule');
    const spec = rule?.spec as unknown as Rules;
    return { spec, alerts: spec.groups.flatMap((group) => group.rules) };
  }

  it('are the same alerts, accepted by Prometheus, each with its runbook', async () => {
    const { spec, alerts: found } = await rendered(EVERYTHING);
    const file = join(folder, 'rendered.json');
    await writeFile(file, JSON.stringify(spec));
    expect(await runTool('promtool', ['check', 'rules', file])).toMatchObject({ code: 0 });
    expect(found.map(({ alert }) => alert)).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations, labels } of found) {
      expect(annotations['runbook_url']).toBe(`https://runbooks.example/${alert}.md`);
      expect(labels['team']).toBe('payments');
    }
  });

  it('select only this release, in every selector', async () => {
    const { alerts: found } = await rendered(EVERYTHING);
    const ofRelease = `namespace="${NAMESPACE}",job="${FULL_NAME}"`;
    for (const { expr } of found) {
      const selectors = [...expr.matchAll(/\b(?:payments|process|nodejs)_[a-z0-9_]+(\{[^}]*\})?/g)];
      expect(selectors.length).toBeGreaterThan(0);
      for (const [, matchers] of selectors) expect(matchers).toContain(ofRelease);
    }
  });

  it('take a threshold from the values', async () => {
    const text = await readFile(ALERTS_FILE, 'utf8');
    expect(alerts.filter(({ expr }) => expr.includes(NUMBER_OF_VALUES))).toHaveLength(1);
    expect(text).toContain('302400 s is half');
    const usual = await rendered(
      merged(LEAST, { prometheusRule: { enabled: true, runbookBaseUrl: 'https://r.example' } }),
    );
    const expressions = (found: { alert: string; expr: string }[], alert: string): string | undefined =>
      found.find((rule) => rule.alert === alert)?.expr;
    expect(expressions(usual.alerts, 'PaymentsRetentionNear')).toContain('> 302400');
    const { alerts: other } = await rendered(EVERYTHING);
    expect(expressions(other, 'PaymentsRetentionNear')).toContain(`> ${(14 * 86_400) / 2}`);
  });
});
