/**
 * Discovery: from a little before the newest transaction known, at every interval: new ones, and young open ones. No I/O
 * and no clock.
 *
 *   waiting   until the next pass is due
 *   reading   one pass; it overlaps what was read before, now and then by as much as clocks may differ
 *
 * What a pass was too long for is left to the catching up.
 */
import { instantOf } from '../transaction-state.ts';
import type { TimeRange } from './record.ts';
import { PAGE_LIMIT, PollScan } from './scan.ts';

export interface DiscoveryOptions {
  readonly intervalMs: number;
  /** How long the budget takes to allow one call. */
  readonly callMs: number;
}

/** Clocks may differ by this much, and transactions may become visible this long after their creation time. */
export const CLOCKS_MS = 5 * 60_000;
/** Discovery has a third of the budget at most, so that what is found is also followed. */
const PACE_CALLS = 2;
/** Where so long an overlap is more than a page, it is read this often, and for a tenth of the budget at most. */
const LONG_OVERLAP_INTERVALS = 12;
const LONG_OVERLAP_PACE_CALLS = 10;
/** The others overlap by less, and by the less, the more is read again. */
const SHORT_OVERLAP_INTERVALS = 3;
const SHORT_OVERLAP_MIN_MS = 2_000;
const SHORT_OVERLAP_PAGES_MAX = 5;

interface Pass {
  readonly scan: PollScan;
  readonly beganMs: number;
  readonly isLong: boolean;
  newestMs: number | null;
}

export class PollDiscovery {
  readonly #options: DiscoveryOptions;
  #discoveredToMs: number;
  #pass: Pass | null = null;
  #dueMs: number;
  #longOverlapDueMs: number;
  #shortOverlapMs: number;

  /** Due at once, and short: the former owner of the lane may have been gone for a while, and the budget begins empty. */
  constructor(options: DiscoveryOptions, discoveredToMs: number, nowMs: number) {
    this.#options = options;
    this.#discoveredToMs = discoveredToMs;
    this.#dueMs = nowMs;
    this.#longOverlapDueMs = nowMs + options.intervalMs;
    this.#shortOverlapMs = shortOverlapMaxMs(options.intervalMs);
  }

  /** Every transaction created before was listed, but for what was left to the catching up. */
  get discoveredToMs(): number {
    return this.#discoveredToMs;
  }

  /** The present pass; null: none is due. */
  scan(nowMs: number): PollScan | null {
    if (this.#pass === null && nowMs >= this.#dueMs) this.#pass = this.#newPass(nowMs);
    return this.#pass?.scan ?? null;
  }

  /** A page of the pass showed these creation times. */
  listed(createdAt: readonly (string | null)[]): void {
    if (this.#pass === null) return;
    for (const text of createdAt) {
      const createdMs = instantOf(text);
      if (createdMs !== null) this.#pass.newestMs = Math.max(createdMs, this.#pass.newestMs ?? createdMs);
    }
  }

  /** To be called after each page. @returns what is to be caught up, for the pass was too long */
  took(nowMs: number): TimeRange | null {
    const pass = this.#pass;
    if (pass === null || pass.scan.stage === 'reading') return null;
    const { beganMs, isLong, newestMs, scan } = pass;
    this.#pass = null;
    const pauseMs = (scan.listed / PAGE_LIMIT) * this.#options.callMs * PACE_CALLS;
    this.#dueMs = Math.max(beganMs + this.#options.intervalMs, nowMs + pauseMs);
    this.#pace(isLong, scan.listed, nowMs);
    if (scan.stage === 'broken') return null;
    // What was created while the pages were read may have been missed: it is within the overlap of the next. Where the
    // service shows no creation times, or no transactions, our own clock has to do.
    const discoveredToMs = Math.min(newestMs ?? beganMs - CLOCKS_MS, beganMs);
    // What is older was listed before.
    const fromMs = Math.max(scan.window.fromMs, this.#discoveredToMs - this.#shortOverlapMs);
    this.#discoveredToMs = Math.max(this.#discoveredToMs, discoveredToMs);
    return scan.stage === 'too-long' && fromMs < discoveredToMs ? { fromMs, toMs: discoveredToMs } : null;
  }

  #newPass(nowMs: number): Pass {
    const isLong = nowMs >= this.#longOverlapDueMs;
    // A creation time in the future must not hide what comes before it.
    const fromMs = Math.min(this.#discoveredToMs, nowMs) - (isLong ? CLOCKS_MS : this.#shortOverlapMs);
    return { scan: new PollScan({ fromMs, toMs: null, status: null }), beganMs: nowMs, isLong, newestMs: null };
  }

  /** How much the next passes read again, by what this one had to. */
  #pace(isLong: boolean, listed: number, nowMs: number): void {
    const { callMs, intervalMs } = this.#options;
    const pages = listed / PAGE_LIMIT;
    if (isLong) {
      const pauseMs = Math.max(intervalMs * LONG_OVERLAP_INTERVALS, pages * callMs * LONG_OVERLAP_PACE_CALLS);
      this.#longOverlapDueMs = pages <= 1 ? nowMs : nowMs + pauseMs;
    } else if (pages > SHORT_OVERLAP_PAGES_MAX) {
      this.#shortOverlapMs = Math.max(SHORT_OVERLAP_MIN_MS, this.#shortOverlapMs / 2);
    } else if (pages < SHORT_OVERLAP_PAGES_MAX / 2) {
      this.#shortOverlapMs = Math.min(shortOverlapMaxMs(intervalMs), this.#shortOverlapMs * 2);
    }
  }
}

function shortOverlapMaxMs(intervalMs: number): number {
  return Math.min(CLOCKS_MS, Math.max(intervalMs * SHORT_OVERLAP_INTERVALS, SHORT_OVERLAP_MIN_MS));
}
