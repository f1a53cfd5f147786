/**
 * The catch-up: lists transactions of creation times that were never listed, one range after the other. No I/O.
 *
 *   never listed   before POLL_START, while nobody polled, or skipped by a discovery that would have been too long
 *   walked         one range at a time, from POLL_START on
 *   skipped        a second that cannot be read, because the service fails for one of its transactions; tried again in the next round
 *   listed         no longer among the ranges
 */
import { PollWalk } from './walk.ts';
import type { PollScan } from './scan.ts';
import type { TimeRange } from './record.ts';

/** Each long pause of the polling adds at most one. Beyond this, the two closest become one, and what lies between is listed again. */
const RANGES_MAX = 100;

/** From a range that could not be read to the next round. */
const ROUND_MS = 600_000;

export class CatchUp {
  readonly #startMs: number;
  #unlisted: readonly TimeRange[];
  #walk: PollWalk | null = null;
  /** Earlier creation times wait for the next round. */
  #roundFromMs: number;
  #nextRoundMs = -Infinity;

  /** @param startMs earlier creation times stay unlisted */
  constructor(unlisted: readonly TimeRange[], startMs: number) {
    this.#unlisted = unlisted;
    this.#startMs = startMs;
    this.#roundFromMs = startMs;
  }

  /** What was not listed yet, before and after the start. */
  unlisted(): readonly TimeRange[] {
    return this.#unlisted;
  }

  add(range: TimeRange | null): void {
    if (range !== null) this.#unlisted = withRange(this.#unlisted, range);
  }

  /** The scan under way, or the next one that is due; null: nothing is due. */
  scan(nowMs: number): PollScan | null {
    if (this.#walk === null && this.#next() === null && nowMs >= this.#nextRoundMs) this.#roundFromMs = this.#startMs;
    const next = this.#next();
    if (this.#walk === null && next !== null) this.#walk = new PollWalk(next, { status: null });
    return this.#walk?.scan() ?? null;
  }

  /**
   * Call it after each page.
   * @returns the range that is skipped until the next round; null: none
   */
  advance(nowMs: number): TimeRange | null {
    const walk = this.#walk;
    const before = walk?.left() ?? null;
    if (walk === null || before === null) return null;
    const isBroken = walk.scan()?.stage === 'broken';
    walk.advance();
    const remaining = walk.left();
    const passed = { fromMs: before.fromMs, toMs: remaining === null ? before.toMs : remaining.fromMs - 1 };
    if (remaining === null) this.#walk = null;
    if (!isBroken || passed.toMs < passed.fromMs) {
      this.#unlisted = withoutRange(this.#unlisted, passed);
      return null;
    }
    this.#roundFromMs = passed.toMs + 1;
    this.#nextRoundMs = nowMs + ROUND_MS;
    return passed;
  }

  /** Of this round. */
  #next(): TimeRange | null {
    const next = this.#unlisted.find(({ toMs }) => toMs >= this.#roundFromMs);
    return next === undefined ? null : { fromMs: Math.max(next.fromMs, this.#roundFromMs), toMs: next.toMs };
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
