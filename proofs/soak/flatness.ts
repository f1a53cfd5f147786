/**
 * Whether what should stay flat does. Pure: a straight line is fitted to the second half of each series, and its rise over
 * that half is held against a tolerance. Less is never wrong.
 */

export interface Point {
  readonly atMs: number;
  readonly value: number;
}

/** Points of each kind and of whom they are: `heap once collected, MiB` of `processor-1`. */
export class Series {
  readonly #points = new Map<Kind, Map<string, Point[]>>();

  add(kind: Kind, whose: string, atMs: number, value: number | null): void {
    if (value === null) return;
    const ofKind = this.#points.get(kind) ?? new Map<string, Point[]>();
    this.#points.set(kind, ofKind.set(whose, [...(ofKind.get(whose) ?? []), { atMs, value }]));
  }

  /** Of everybody who lived long enough. */
  trends(): Trend[] {
    return [...this.#points].flatMap(([kind, ofKind]) =>
      [...ofKind]
        .filter(([, points]) => spanMs(points) >= LIFE_MS_MIN)
        .map(([whose, all]) => trendOf(kind, whose, all)),
    );
  }

  toJSON(): object {
    return Object.fromEntries([...this.#points].map(([kind, ofKind]) => [kind, Object.fromEntries(ofKind)]));
  }
}

export interface Trend {
  readonly kind: Kind;
  readonly whose: string;
  /** Of the half that is judged. */
  readonly minutes: number;
  readonly mean: number;
  readonly max: number;
  /** Of the fitted line from its beginning to its end. */
  readonly rise: number;
  /** Infinity: the rise is shown, and not judged. */
  readonly riseMax: number;
}

interface Rule {
  /** What it may rise by: the larger of the two. Without: anything. */
  readonly absolute?: number;
  readonly share?: number;
  /** What it may be at any time. */
  readonly most?: number;
  /** Of each so many milliseconds the least counts: what a heap still has after it was collected. */
  readonly leastOfMs?: number;
  /** Peaks of both halves are held against each other: brokers delete every five minutes. */
  readonly isPeak?: true;
}

/** A process that lived shorter is still warming up: its heap, its pool of connections, its pages of the store. */
const LIFE_MS_MIN = 15 * 60_000;
const RULES = {
  'memory without mapped files, MiB': { absolute: 16, share: 0.1 },
  'memory with mapped files, MiB': {},
  'heap once collected, MiB': { absolute: 16, share: 0.1, leastOfMs: 120_000 },
  'handles but sockets': { absolute: 2 },
  'connections to Kafka': { absolute: 2 },
  // API_MAX_CONCURRENCY, and what polls and looks up: a pool has as many as the busiest second needed.
  'connections to the service': { most: 120 },
  'other sockets': { absolute: 2 },
  'event loop, 99th percentile, ms': {},
  'store on disk, MiB': { absolute: 8, share: 0.1 },
  'Kafka on disk at its peak, MiB': { absolute: 32, share: 0.1, isPeak: true },
  'keys remembered': { absolute: 1_000, share: 0.1 },
} satisfies Record<string, Rule>;
export type Kind = keyof typeof RULES;
export const KINDS = Object.keys(RULES) as Kind[];

/** What is beyond its tolerance, in words. */
export function growing(trends: readonly Trend[]): string[] {
  return trends.flatMap(({ kind, max, minutes, rise, riseMax, whose }) => {
    const { most = Infinity }: Rule = RULES[kind];
    return [
      ...(rise > riseMax
        ? [`${whose}: ${kind} rose by ${rise.toFixed(1)} in ${minutes.toFixed(0)} min, more than ${riseMax.toFixed(1)}`]
        : []),
      ...(max > most ? [`${whose}: ${kind}: ${max.toFixed(0)}, more than ${most}`] : []),
    ];
  });
}

function trendOf(kind: Kind, whose: string, all: readonly Point[]): Trend {
  const { absolute, isPeak, leastOfMs, share = 0 }: Rule = RULES[kind];
  const fromMs = (all[0]?.atMs ?? 0) + spanMs(all) / 2;
  const half = all.filter(({ atMs }) => atMs >= fromMs);
  const points = leastOfMs === undefined ? half : leastOf(half, leastOfMs);
  const mean = meanOf(points.map(({ value }) => value));
  const max = maxOf(points);
  return {
    kind,
    whose,
    minutes: spanMs(points) / 60_000,
    mean,
    max,
    rise: isPeak ? max - maxOf(all.filter(({ atMs }) => atMs < fromMs)) : slopeOf(points) * spanMs(points),
    riseMax: absolute === undefined ? Infinity : Math.max(absolute, share * mean),
  };
}

/** Of each stretch of time the least point. */
function leastOf(points: readonly Point[], stretchMs: number): Point[] {
  const stretches = [...Map.groupBy(points, ({ atMs }) => Math.floor(atMs / stretchMs)).values()];
  const fullest = Math.max(0, ...stretches.map(({ length }) => length));
  // What begins or ends in the middle of a stretch says less.
  const whole = stretches.filter(({ length }) => length > fullest / 2);
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

function spanMs(points: readonly Point[]): number {
  return (points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0);
}

function maxOf(points: readonly Point[]): number {
  return points.reduce((most, { value }) => Math.max(most, value), 0);
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
