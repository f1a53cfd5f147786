/**
 * Alert rules for time that passes faster. Pure.
 *
 * Only durations are divided by the factor: `for`, `keep_firing_for`, intervals of groups, range windows with their
 * steps, offsets, and the numbers that an age is compared with. Rates, shares, counts and bounds of buckets stay: they
 * mean the same in a shorter time.
 */
import { METRICS, type MetricDefinition } from '../../src/ops/metrics-table.ts';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface AlertRules {
  readonly groups: readonly {
    readonly name: string;
    readonly interval?: string;
    readonly rules: readonly AlertRule[];
  }[];
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

const DURATION = String.raw`(?:\d+(?:ms|[smhdwy]))+`;
const WINDOW = new RegExp(String.raw`\[\s*(${DURATION})\s*(?::\s*(${DURATION})?\s*)?\]`, 'g');
const OFFSET = new RegExp(String.raw`\boffset\s+(-?)(${DURATION})`, 'g');
/** An age compared directly, aggregated or not; after a rate or derivative of one comes its window. */
const AGE_COMPARED = new RegExp(
  String.raw`\b(?:${ageMetrics().join('|')})(?:\{[^}]*\})?[\s)]*(?:[<>]=?|[!=]=)(?:\s*bool)?\s*(\d+(?:\.\d+)?)`,
  'g',
);

/** Gauges in seconds that grow as time passes. */
function ageMetrics(): string[] {
  const definitions: readonly MetricDefinition[] = Object.values(METRICS);
  return definitions
    .filter(({ name, type }) => type === 'gauge' && name.endsWith('_seconds') && !name.endsWith('_timestamp_seconds'))
    .map(({ name }) => name);
}

/** @param factor how many times faster time passes, above 0 */
export function scaledRules(rules: AlertRules, factor: number): AlertRules {
  const divided = (text: string | undefined, name: string): Record<string, string> =>
    text === undefined ? {} : { [name]: scaledDuration(text, factor) };
  return {
    groups: rules.groups.map((group) => ({
      ...group,
      ...divided(group.interval, 'interval'),
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: scaledExpression(rule.expr, factor),
        ...divided(rule.for, 'for'),
        ...divided(rule.keep_firing_for, 'keep_firing_for'),
      })),
    })),
  };
}

export function scaledExpression(expression: string, factor: number): string {
  return expression
    .replaceAll(WINDOW, (whole, window: string, step: string | undefined) => {
      const range = scaledDuration(window, factor);
      if (step !== undefined) return `[${range}:${scaledDuration(step, factor)}]`;
      return whole.includes(':') ? `[${range}:]` : `[${range}]`;
    })
    .replaceAll(OFFSET, (_, sign: string, offset: string) => `offset ${sign}${scaledDuration(offset, factor)}`)
    .replaceAll(AGE_COMPARED, (whole, seconds: string) => {
      return whole.slice(0, whole.length - seconds.length) + String(Number(seconds) / factor);
    });
}

/** Milliseconds of a duration as Prometheus writes it, such as 5m or 1h30m. */
export function durationMs(text: string): number {
  if (!new RegExp(`^${DURATION}$`).test(text)) throw new Error(`${text} is not a duration`);
  const parts = text.matchAll(/(\d+)(ms|[smhdwy])/g);
  return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS_MS[unit ?? ''] ?? 0), 0);
}

function scaledDuration(text: string, factor: number): string {
  // Prometheus has no shorter duration, and an empty window would be an error.
  const ms = Math.max(1, Math.round(durationMs(text) / factor));
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
