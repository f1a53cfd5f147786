/**
 * Counts durations in buckets, each a tenth wider than the last. Memory stays bounded for any number of durations, and
 * percentiles are at most a tenth too high.
 */

const GROWTH = 1.1;
/** Shorter durations share one bucket. */
const SMALLEST_MS = 1;
/** Two days, as for a command that waited out a long outage. Longer durations share the last bucket. */
const LARGEST_MS = 2 * 86_400_000;

const BUCKET_COUNT = bucketOf(LARGEST_MS) + 1;

export class DurationTally {
  readonly #counts = new Uint32Array(BUCKET_COUNT);
  #total = 0;

  add(durationMs: number): void {
    const index = bucketOf(Math.min(Math.max(durationMs, SMALLEST_MS), LARGEST_MS));
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#total += 1;
  }

  /** @returns the seconds that `percent` of the durations do not exceed; null if there are none */
  percentileSeconds(percent: number): number | null {
    if (this.#total === 0) return null;
    const wanted = Math.ceil((this.#total * percent) / 100);
    let seen = 0;
    const index = this.#counts.findIndex((count) => (seen += count) >= wanted);
    return (SMALLEST_MS * GROWTH ** index) / 1000;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
  }
}

function bucketOf(durationMs: number): number {
  return Math.ceil(Math.log(durationMs / SMALLEST_MS) / Math.log(GROWTH));
}
