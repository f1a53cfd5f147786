/** What a healthy group of two processes and two lanes exposes to Prometheus, and changes to it, for promtool. */
import { METRICS, type MetricDefinition, type MetricName } from '../../src/ops/metrics-table.ts';

/** Process a has lane 0 and polls, process b has lane 1. */
export type Instance = 'a' | 'b';
const INSTANCES: readonly Instance[] = ['a', 'b'];
const LANE_OF: Readonly<Record<Instance, string>> = { a: '0', b: '1' };

/** Sampling interval, as in promtool's test file. */
export const INTERVAL_SECONDS = 30;
/** How many commands of each type each process answers between two samples. */
const ANSWERED = 10;

/** Command types left out: two types prove as much as five, in less time. */
const NOT_SERVED = ['create-quote', 'reject-transaction', 'simulate-uma-receive'];

type Labels = Readonly<Record<string, string>>;

/** The values of a series from its start, in promtool's notation. */
export type Course = (samples: number) => string;

export const flat =
  (value: number): Course =>
  (samples) =>
    `${value}x${samples}`;
export const growing =
  (perSample: number, from = 0): Course =>
  (samples) =>
    `${from}${perSample < 0 ? '' : '+'}${perSample}x${samples}`;
/** 0 at first, then one value from there on: a counter that counted, a gauge that rose. */
export const risingTo =
  (value: number): Course =>
  (samples) =>
    `0x${Math.floor(samples / 2)} ${value}x${samples}`;

/** A gauge that was up once, at the first sample. */
export const startingWith =
  (value: number): Course =>
  (samples) =>
    `${value} 0x${samples}`;

export interface Change {
  readonly metric: MetricName | ProcessMetric;
  readonly course: Course;
  readonly labels: Labels;
  readonly instance: Instance | undefined;
  /** Which part of a histogram. */
  readonly suffix: '_bucket' | '_count' | undefined;
}

/** @param labels changes only series with all of these; @param instance undefined: of both */
export function on(
  metric: Change['metric'],
  course: Course,
  labels: Labels = {},
  instance?: Instance,
  suffix?: '_bucket' | '_count',
): Change {
  return { metric, course, labels, instance, suffix };
}

type ProcessMetric = 'nodejs_heap_size_total_bytes' | 'nodejs_external_memory_bytes';

const PROCESS_METRICS: Readonly<Record<ProcessMetric, number>> = {
  nodejs_heap_size_total_bytes: 200e6,
  nodejs_external_memory_bytes: 20e6,
};

interface Series {
  readonly metric: MetricName | ProcessMetric;
  readonly suffix: '' | '_bucket' | '_count';
  readonly name: string;
  readonly labels: Labels;
  readonly instance: Instance;
  readonly course: Course;
}

/** In the form of promtool's test file. */
export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

export function healthySeries(minutes: number, changes: readonly Change[] = []): InputSeries[] {
  const samples = (minutes * 60) / INTERVAL_SECONDS;
  return INSTANCES.flatMap(seriesOf).map((series) => {
    const { course } = changes.findLast((change) => concerns(change, series)) ?? series;
    const labels = {
      namespace: 'payments',
      job: 'processor',
      pod: series.instance,
      instance: series.instance,
      ...series.labels,
    };
    const text = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return { series: `${series.name}{${text.join(',')}}`, values: course(samples) };
  });
}

function concerns(change: Change, series: Series): boolean {
  return (
    change.metric === series.metric &&
    (change.suffix ?? '') === series.suffix &&
    (change.instance ?? series.instance) === series.instance &&
    Object.entries(change.labels).every(([label, value]) => series.labels[label] === value)
  );
}

function seriesOf(instance: Instance): Series[] {
  const ofTable = (Object.keys(METRICS) as MetricName[]).flatMap((metric): Series[] => {
    const definition: MetricDefinition = METRICS[metric];
    return combinations(definition, instance).flatMap((labels): Series[] => {
      const common = { metric, instance };
      const course = healthyCourse(metric, labels, instance);
      const { name } = definition;
      if (definition.type !== 'histogram') return [{ ...common, suffix: '', name, labels, course }];
      const bounds = [...(definition.buckets ?? []), '+Inf'].map(String);
      return [
        { ...common, suffix: '_count', name: `${name}_count`, labels, course },
        ...bounds.map((le): Series => ({
          ...common,
          suffix: '_bucket',
          name: `${name}_bucket`,
          labels: { ...labels, le },
          course,
        })),
      ];
    });
  });
  const ofProcess = Object.entries(PROCESS_METRICS).map(([name, value]): Series => {
    const metric = name as ProcessMetric;
    return { metric, suffix: '', name, labels: {}, instance, course: flat(value) };
  });
  return [...ofTable, ...ofProcess];
}

function combinations(definition: MetricDefinition, instance: Instance): Labels[] {
  let found: Labels[] = [{}];
  for (const [label, values] of Object.entries(definition.labels)) {
    const listed =
      values === 'lanes'
        ? [LANE_OF[instance]]
        : values === 'own'
          ? [instance]
          : values.filter((value) => !NOT_SERVED.includes(value));
    found = found.flatMap((labels) => listed.map((value) => ({ ...labels, [label]: value })));
  }
  return found;
}

function healthyCourse(metric: MetricName, labels: Labels, instance: Instance): Course {
  switch (metric) {
    case 'results':
      return labels['outcome'] === 'ACCEPTED' && labels['revision'] === 'first' ? growing(ANSWERED) : flat(0);
    case 'commandDurationSeconds':
      return growing(ANSWERED);
    case 'apiCallDurationSeconds':
      return labels['outcome'] === 'accepted' ? growing(ANSWERED) : flat(0);
    case 'breakerStage':
      return flat(labels['stage'] === 'closed' ? 1 : 0);
    case 'lanes':
      return flat(labels['stage'] === 'open' ? 1 : 0);
    case 'lanesConfigured':
      return flat(INSTANCES.length);
    case 'ready':
    case 'groupConfirmed':
    case 'lagEndsAgeSeconds':
      return flat(1);
    case 'polling':
      return flat(instance === 'a' ? 1 : 0);
    case 'pollCalls':
      return labels['outcome'] === 'page' && instance === 'a' ? growing(5) : flat(0);
    case 'commits':
    case 'keysRemembered':
    case 'statusChanges':
      return growing(ANSWERED);
    // Busy, but no reason to worry.
    case 'lagMessages':
    case 'laneUnfinishedEntries':
    case 'observationsLagMessages':
    case 'callsUnderWay':
      return flat(3);
    case 'callSlots':
    case 'laneUnfinishedLimitEntries':
      return flat(100);
    case 'memoryLimitBytes':
      return flat(1.6e9);
    case 'stateDiskBytes':
      return flat(5e9);
    case 'storeBytes':
      return flat(1e9);
    case 'notAdmittedMessages':
      return flat(labels['cause'] === 'catching-up' ? 3 : 0);
    case 'unfinishedEntries':
    case 'unfinishedOldestSeconds':
      return flat(labels['state'] === 'INTENT' ? 1 : 0);
    case 'heldBackMessages':
    case 'laneUncommittedSeconds':
    case 'lagOldestSeconds':
    case 'oldestNotHeldSeconds':
    case 'oldestUnansweredSeconds':
      return flat(1);
    default:
      return flat(0);
  }
}
