import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { METRICS, type LabelValues, type MetricDefinition } from '../../src/ops/metrics-table.ts';
import { createMetrics } from '../../src/ops/metrics.ts';
import { StateReader } from '../../src/ops/state-reader.ts';
import { FakeProcessor } from '../ops/fake-processor.ts';
import { ofKind, EVERYTHING, render } from './chart.ts';
import { ROOT, runTool } from './tools.ts';

/** What Prometheus and the cluster add to every series. */
const TARGET_LABELS = ['namespace', 'job', 'pod', 'instance'];

const byName = new Map<string, MetricDefinition>(Object.values(METRICS).map((metric) => [metric.name, metric]));
const ofProcess = (() => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return new Set(registry.getMetricsAsArray().map(({ name }) => name));
})();

interface Selector {
  readonly name: string;
  readonly matchers: string;
}

function selectorsOf(expression: string): Selector[] {
  const found = expression.matchAll(/\b((?:payments|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = '', matchers = '']) => ({ name, matchers }));
}

/** The faults of an expression's metrics, labels and label values. */
function problemsOf(expression: string): string[] {
  const selectors = selectorsOf(expression);
  const labels = new Set(TARGET_LABELS);
  const problems = selectors.flatMap(({ name, matchers }) => {
    if (!name.startsWith('payments_')) return ofProcess.has(name) ? [] : [`there is no ${name}`];
    const suffix = /_(bucket|count|sum)$/.exec(name)?.[0] ?? '';
    const base = byName.get(name) ?? byName.get(name.slice(0, name.length - suffix.length));
    if (base === undefined) return [`there is no ${name}`];
    const isPart = base.name !== name;
    if (isPart !== (base.type === 'histogram')) return [`${name} is a ${base.type}`];
    const own: Record<string, LabelValues> = { ...base.labels };
    if (suffix === '_bucket') own['le'] = (base.buckets ?? []).map(String);
    Object.keys(own).forEach((label) => labels.add(label));
    return [...matchers.matchAll(/([a-z_]+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"/g)].flatMap(
      ([, label = '', , value = '']) => {
        const values = own[label];
        if (values === undefined) return TARGET_LABELS.includes(label) ? [] : [`${name} has no label ${label}`];
        if (typeof values === 'string') return [];
        const asked = value.replace(String.raw`(\\.0)?`, '').split('|');
        return asked.filter((one) => !values.includes(one)).map((one) => `${label} of ${name} is never ${one}`);
      },
    );
  });
  const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
  return [
    ...problems,
    ...grouped.filter((label) => !labels.has(label)).map((label) => `nothing has the label ${label}`),
  ];
}

describe('metrics that are queried', () => {
  it('exist, with their labels and values, in every alert', async () => {
    const text = await readFile(join(ROOT, 'helm/files/alerts.yaml'), 'utf8');
    const { groups } = parse(text) as { groups: { rules: { alert: string; expr: string }[] }[] };
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(20);
    for (const { alert, expr } of rules) expect({ alert, problems: problemsOf(expr) }).toEqual({ alert, problems: [] });
  });

  it('exist in every panel of the dashboard', async () => {
    const text = await readFile(join(ROOT, 'helm/files/dashboard.json'), 'utf8');
    const { panels } = JSON.parse(text) as { panels: { title: string; targets?: { expr: string }[] }[] };
    const queries = panels.flatMap(({ title, targets }) => (targets ?? []).map(({ expr }) => ({ title, expr })));
    expect(queries.length).toBeGreaterThan(25);
    for (const { title, expr } of queries)
      expect({ title, problems: problemsOf(expr) }).toEqual({ title, problems: [] });
  });

  it('have names that promtool accepts, including those of the process', async () => {
    const text = await createMetrics().text(await new StateReader(new FakeProcessor().sources()).read());
    expect(await runTool('promtool', ['check', 'metrics'], text)).toEqual({ code: 0, output: '', text: '' });
  });

  it('exist in the queries of the autoscaler', async () => {
    const [scaled] = ofKind(await render(EVERYTHING), 'ScaledObject');
    const { triggers } = scaled?.spec as { triggers: { metadata: { query: string } }[] };
    expect(problemsOf(triggers[0]?.metadata.query ?? '')).toEqual([]);
  });
});
