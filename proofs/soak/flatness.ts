/**
 * Whether what should stay flat does. Pure: a straight line is fitted to the second half of each series, and its rise over
 * that half is held against a tolerance. Less is never wrong.
 */
import type { Peer } from './process-handles.ts';
import type { ProcessSample, SharedSample } from './samples.ts';

/** A process that lived shorter is still warming up: its heap, its pool of connections, its pages of the store. */
export const JUDGED_LIFE_MS_MIN = 15 * 60_000;
/** Before it every retention of the run has passed, and brokers have looked for what to delete. */
const SHARED_FROM_SHARE = 0.5;

interface Point {
  atMs: number;
  value: number;
}

export interface Trend {
  /** Whose, and of what. */
  whose: string;
  what: string;
  /** Of the half that is judged. */
  minutes: number;
  mean: number;
  max: number;
  /** Of the fitted line from its beginning to its end. */
  rise: number;
  /** Null: the rise is shown, and not judged. */
  riseMax: number | null;
  /** What it may be at any time; null: anything. */
  mostMax: number | null;
}

/** The larger of the two. */
interface Tolerance {
  absolute: number;
  share: number;
}

interface Judged<Sample> {
  what: string;
  /** Null: the rise is shown alone. */
  tolerance: Tolerance | null;
  mostMax?: number;
  /** Of each so many milliseconds the least counts: what a heap still has after it was collected. */
  leastOfMs?: number;
  of: (sample: Sample) => number | null;
}

/** A heap is collected several times meanwhile. */
const COLLECTED_MS = 120_000;
/** `API_MAX_CONCURRENCY`, and what polls and looks up: a pool has as many as the busiest second needed. */
const SERVICE_CONNECTIONS_MAX = 120;
const NO_MORE: Tolerance = { absolute: 2, share: 0 };

const CONNECTIONS: readonly (readonly [Peer, Pick<Judged<ProcessSample>, 'tolerance' | 'mostMax'>])[] = [
  ['kafka', { tolerance: NO_MORE }],
  ['registry', { tolerance: NO_MORE }],
  ['service', { tolerance: null, mostMax: SERVICE_CONNECTIONS_MAX }],
  ['served', { tolerance: NO_MORE }],
  ['other', { tolerance: NO_MORE }],
];

const OF_PROCESS: readonly Judged<ProcessSample>[] = [
  {
    what: 'memory without mapped files, MiB',
    tolerance: { absolute: 16, share: 0.1 },
    of: ({ memory }) => memory.anonymous,
  },
  { what: 'memory with mapped files, MiB', tolerance: null, of: ({ memory }) => memory.resident },
  {
    what: 'heap once collected, MiB',
    tolerance: { absolute: 16, share: 0.1 },
    leastOfMs: COLLECTED_MS,
    of: ({ heapUsedMebibytes }) => heapUsedMebibytes,
  },
  {
    what: 'handles but TCP',
    tolerance: { absolute: 2, share: 0 },
    of: ({ handles }) => handles.unix + handles.pipe + handles.event + handles.file + handles.other,
  },
  ...CONNECTIONS.map(([peer, limits]): Judged<ProcessSample> => ({
    what: `connections, ${peer}`,
    ...limits,
    of: ({ connections }) => connections[peer],
  })),
  { what: 'event loop, 99th percentile, ms', tolerance: null, of: ({ eventLoopP99Ms }) => eventLoopP99Ms },
];

/** Every instance of a process that lived long enough, of each series. */
export function processTrends(samples: readonly ProcessSample[]): Trend[] {
  return livesOf(samples)
    .filter((life) => lengthMs(life) >= JUDGED_LIFE_MS_MIN)
    .flatMap((life) => {
      const whose = `${life[0]?.name}, pid ${life[0]?.pid}`;
      const half = since(life, (life[0]?.atMs ?? 0) + lengthMs(life) / 2);
      return OF_PROCESS.map((judged) => trendOf(whose, judged, half));
    });
}

/** Stores and the broker's disk, over the second half of the run. */
export function sharedTrends(samples: readonly SharedSample[], processes: readonly ProcessSample[]): Trend[] {
  const fromMs = (samples.at(-1)?.atMs ?? 0) * SHARED_FROM_SHARE;
  const half = since(samples, fromMs);
  const folders = [...new Set(samples.flatMap(({ storeMebibytes }) => Object.keys(storeMebibytes)))];
  const tolerance = { absolute: 8, share: 0.1 };
  const stores = folders.map((folder) =>
    trendOf(
      `store ${folder}`,
      { what: 'on disk, MiB', tolerance, of: (sample: SharedSample) => sample.storeMebibytes[folder] ?? null },
      half,
    ),
  );
  const kafka: Judged<SharedSample> = {
    what: 'on disk at its peak, MiB',
    tolerance: { absolute: 32, share: 0.1 },
    of: ({ kafkaMebibytes }) => kafkaMebibytes,
  };
  const before = trendOf('', kafka, samples.slice(0, samples.length - half.length));
  const kafkaHalf = trendOf('Kafka', kafka, half);
  const keys: Judged<ProcessSample> = {
    what: 'keys remembered',
    tolerance: { absolute: 1_000, share: 0.1 },
    // A process that is catching up has not all of them yet.
    of: ({ keysRemembered, lagMessages }) => (lagMessages === null ? null : keysRemembered),
  };
  // Brokers delete every five minutes, and batches are the larger the busier the machine: peaks are held against each other.
  const ofKafka = { ...kafkaHalf, rise: kafkaHalf.max - before.max };
  return [...stores, ofKafka, trendOf('both processes', keys, since(processes, fromMs))];
}

/** What is beyond its tolerance, in words. */
export function growing(trends: readonly Trend[]): string[] {
  return trends.flatMap(({ max, minutes, mostMax, rise, riseMax, what, whose }) => [
    ...(riseMax !== null && rise > riseMax
      ? [`${whose}: ${what} rose by ${rise.toFixed(1)} in ${minutes.toFixed(0)} min, more than ${riseMax.toFixed(1)}`]
      : []),
    ...(mostMax !== null && max > mostMax ? [`${whose}: ${what} were ${max.toFixed(0)}, more than ${mostMax}`] : []),
  ]);
}

/** Of each process its samples, in the order of their starts. */
export function livesOf(samples: readonly ProcessSample[]): ProcessSample[][] {
  const lives = new Map<number, ProcessSample[]>();
  for (const sample of samples) lives.set(sample.pid, [...(lives.get(sample.pid) ?? []), sample]);
  return [...lives.values()];
}

function lengthMs(life: readonly ProcessSample[]): number {
  return (life.at(-1)?.atMs ?? 0) - (life[0]?.atMs ?? 0);
}

function since<Sample extends { atMs: number }>(samples: readonly Sample[], fromMs: number): Sample[] {
  return samples.filter(({ atMs }) => atMs >= fromMs);
}

function trendOf<Sample extends { atMs: number }>(
  whose: string,
  { leastOfMs, mostMax, of, tolerance, what }: Judged<Sample>,
  samples: readonly Sample[],
): Trend {
  const all = samples.flatMap((sample): Point[] => {
    const value = of(sample);
    return value === null ? [] : [{ atMs: sample.atMs, value }];
  });
  const points = leastOfMs === undefined ? all : leastOf(all, leastOfMs);
  const spanMs = (points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0);
  const mean = meanOf(points.map(({ value }) => value));
  return {
    whose,
    what,
    minutes: spanMs / 60_000,
    mean,
    max: points.reduce((most, { value }) => Math.max(most, value), 0),
    rise: slopeOf(points) * spanMs,
    riseMax: tolerance === null ? null : Math.max(tolerance.absolute, tolerance.share * mean),
    mostMax: mostMax ?? null,
  };
}

/** Of each stretch of time the least point. */
function leastOf(points: readonly Point[], stretchMs: number): Point[] {
  const stretches = Map.groupBy(points, ({ atMs }) => Math.floor(atMs / stretchMs));
  const fullest = Math.max(0, ...[...stretches.values()].map(({ length }) => length));
  // What begins or ends in the middle of a stretch says less.
  const whole = [...stretches.values()].filter(({ length }) => length > fullest / 2);
  return whole.map((stretch) => stretch.reduce((least, point) => (point.value < least.value ? point : least)));
}

/** Least squares, per millisecond; 0 where there is nothing to fit. */
function slopeOf(points: readonly Point[]): number {
  const meanAt = meanOf(points.map(({ atMs }) => atMs));
  const mean = meanOf(points.map(({ value }) => value));
  const spread = points.reduce((sum, { atMs }) => sum + (atMs - meanAt) ** 2, 0);
  if (spread === 0) return 0;
  return points.reduce((sum, { atMs, value }) => sum + (atMs - meanAt) * (value - mean), 0) / spread;
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
