/**
 * The catch-up: lists transactions of creation times that were never listed, one range after the other. No I/O.
 *
 *   never listed   before POLL_START, while nobody polled, or left by a discovery that would have been too long
 *   walked         one range at a time, from POLL_START on
 *   listed         no longer among the ranges
 */
import { PollWalk } from './walk.ts';
import type { PollScan } from './scan.ts';
import type { TimeRange } from './record.ts';

/** Each long pause of the polling adds at most one. Beyond this, the two closest become one, and what lies between is listed again. */
const RANGES_MAX = 100;

export class CatchUp {
  readonly #startMs: number;
  #unlisted: readonly TimeRange[];
  #walk: PollWalk | null = null;

  /** @param startMs earlier creation times stay unlisted */
  constructor(unlisted: readonly TimeRange[], startMs: number) {
    this.#unlisted = unlisted;
    this.#startMs = startMs;
  }

  /** What was not listed yet, before and after the start. */
  unlisted(): readonly TimeRange[] {
    return this.#unlisted;
  }

  add(range: TimeRange | null): void {
    if (range !== null) this.#unlisted = withRange(this.#unlisted, range);
  }

  /** The present pass; null: nothing is left. */
  scan(): PollScan | null {
    const next = this.#unlisted.find(({ toMs }) => toMs >= this.#startMs);
    if (this.#walk === null && next !== undefined) {
      const range = { fromMs: Math.max(next.fromMs, this.#startMs), toMs: next.toMs };
      // It must not skip anything: these transactions have not been published.
      this.#walk = new PollWalk(range, { status: null, maySkip: false });
    }
    return this.#walk?.scan() ?? null;
  }

  /** Call it after each page. */
  advance(): void {
    const before = this.#walk?.left() ?? null;
    if (this.#walk === null || before === null) return;
    this.#walk.advance();
    const left = this.#walk.left();
    const listed = { fromMs: before.fromMs, toMs: left === null ? before.toMs : left.fromMs - 1 };
    this.#unlisted = withoutRange(this.#unlisted, listed);
    if (left === null) this.#walk = null;
  }
}

/** @param ranges ascending and disjoint, as are those returned */
export function withRange(ranges: readonly TimeRange[], added: TimeRange): TimeRange[] {
  if (added.toMs < added.fromMs) return [...ranges];
  const merged: TimeRange[] = [];
  for (const range of [...ranges, added].sort((left, right) => left.fromMs - right.fromMs)) {
    const last = merged.at(-1);
    if (last === undefined || range.fromMs > last.toMs + 1) merged.push(range);
    else merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, range.toMs) };
  }
  return merged.length > RANGES_MAX ? withoutClosestGap(merged) : merged;
}

/** @param removed may be empty: its end before its beginning */
export function withoutRange(ranges: readonly TimeRange[], removed: TimeRange): TimeRange[] {
  if (removed.toMs < removed.fromMs) return [...ranges];
  return ranges.flatMap((range) =>
    [
      { fromMs: range.fromMs, toMs: Math.min(range.toMs, removed.fromMs - 1) },
      { fromMs: Math.max(range.fromMs, removed.toMs + 1), toMs: range.toMs },
    ].filter(({ fromMs, toMs }) => fromMs <= toMs),
  );
}

function withoutClosestGap(ranges: readonly TimeRange[]): TimeRange[] {
  const gaps = ranges.slice(1).map(({ fromMs }, index) => fromMs - (ranges[index]?.toMs ?? fromMs));
  const closest = gaps.indexOf(Math.min(...gaps));
  return ranges.flatMap((range, index) => {
    if (index === closest + 1) return [];
    return [index === closest ? { fromMs: range.fromMs, toMs: ranges[index + 1]?.toMs ?? range.toMs } : range];
  });
}
