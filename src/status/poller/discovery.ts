/**
 * Discovery: at every interval it reads from shortly before the newest known transaction, for new ones and young open ones. No I/O
 * and no clock.
 *
 *   waiting   until the next pass is due
 *   reading   one pass; it overlaps the previous ones. The overlap covers the clocks' difference: always if that fits on a page,
 *             else from time to time
 *
 * A pass that would be too long leaves the rest to the catch-up.
 */
import { instantOf } from '../transaction-state.ts';
import type { TimeRange } from './record.ts';
import { PAGE_LIMIT, PollScan } from './scan.ts';

export interface DiscoveryOptions {
  readonly intervalMs: number;
  /** How long the budget takes to allow one call. */
  readonly callMs: number;
}

/** Clocks may differ by this much, and a transaction may become visible this long after its creation time. */
export const CLOCKS_MS = 5 * 60_000;
/** Discovery gets a third of the budget at most, so that we can also follow what it finds. */
const PACE_CALLS = 2;
/** If the long overlap is more than a page, we read it this often, and for a tenth of the budget at most. */
const LONG_OVERLAP_INTERVALS = 12;
const LONG_OVERLAP_PACE_CALLS = 10;
/** Other passes overlap less: the more they read, the shorter the overlap of the next ones. */
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

  /** The first pass is due at once, and short: the former owner may have been gone for a while, and the budget starts empty. */
  constructor(options: DiscoveryOptions, discoveredToMs: number, nowMs: number) {
    this.#options = options;
    this.#discoveredToMs = discoveredToMs;
    this.#dueMs = nowMs;
    this.#longOverlapDueMs = nowMs + options.intervalMs;
    this.#shortOverlapMs = shortOverlapMaxMs(options.intervalMs);
  }

  /** Every transaction created before this time has been listed, except those left to the catch-up. */
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

  /** Call it after each page. @returns the range to catch up with, if the pass was too long */
  took(nowMs: number): TimeRange | null {
    const pass = this.#pass;
    if (pass === null || pass.scan.stage === 'reading') return null;
    const { beganMs, isLong, newestMs, scan } = pass;
    this.#pass = null;
    const pauseMs = (scan.listed / PAGE_LIMIT) * this.#options.callMs * PACE_CALLS;
    this.#dueMs = Math.max(beganMs + this.#options.intervalMs, nowMs + pauseMs);
    this.#pace(isLong, scan.listed, nowMs);
    if (scan.stage === 'broken') return null;
    // The pass may have missed transactions created while it read; the next overlap covers them. If the service shows no creation
    // times, or no transactions, we use our own clock.
    const discoveredToMs = Math.min(newestMs ?? beganMs - CLOCKS_MS, beganMs);
    // Earlier passes listed everything older.
    const fromMs = Math.max(scan.window.fromMs, this.#discoveredToMs - this.#shortOverlapMs);
    this.#discoveredToMs = Math.max(this.#discoveredToMs, discoveredToMs);
    return scan.stage === 'too-long' && fromMs < discoveredToMs ? { fromMs, toMs: discoveredToMs } : null;
  }

  #newPass(nowMs: number): Pass {
    const isLong = nowMs >= this.#longOverlapDueMs;
    // A creation time in the future must not hide transactions before it.
    const fromMs = Math.min(this.#discoveredToMs, nowMs) - (isLong ? CLOCKS_MS : this.#shortOverlapMs);
    return { scan: new PollScan({ fromMs, toMs: null, status: null }), beganMs: nowMs, isLong, newestMs: null };
  }

  /** Sets the overlap of the next passes by how much this one read. */
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
