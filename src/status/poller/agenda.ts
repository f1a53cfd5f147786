/**
 * Decides what the poller reads next. No I/O and no clock.
 *
 *   discovery   at every interval, from shortly before the newest known transaction: new ones, and young open ones
 *   revisit     windows around watched transactions that are due
 *   catch-up    transactions of times that were never listed
 *   reversals   transactions that went from one terminal status to another; filtered by status, because few do
 *   sweep       slowly, all recently created transactions: changes that the other kinds miss
 *
 * One page at a time, each kind by its weight. What one kind does not use of its share goes to the others.
 */
import { CLOCKS_MS, PollDiscovery } from './discovery.ts';
import { CatchUp } from './catch-up.ts';
import type { PollRecord, TimeRange } from './record.ts';
import { PAGE_LIMIT, PollScan } from './scan.ts';
import { PollWalk } from './walk.ts';
import type { Cluster } from './turns.ts';
import { LATE_AFTER_MS, type PollWatch } from './watch.ts';

export const POLL_WORK_KINDS = ['discovery', 'revisit', 'catch-up', 'reversals', 'sweep'] as const;
export type PollWorkKind = (typeof POLL_WORK_KINDS)[number];

export interface PollWork {
  readonly kind: PollWorkKind;
  readonly scan: PollScan;
}

export interface AgendaOptions {
  readonly intervalMs: number;
  readonly terminalForMs: number;
  /** States of transactions created before this may have been forgotten. */
  readonly forgottenToMs: number;
  /** How long the budget takes to allow one call. */
  readonly callMs: number;
  readonly watch: PollWatch;
}

/** Pages of each kind while all have work. */
const WEIGHTS: Readonly<Record<PollWorkKind, number>> = {
  discovery: 4,
  revisit: 4,
  'catch-up': 2,
  reversals: 1,
  sweep: 1,
};

/** After a longer gap in polling, the catch-up lists the gap, so that new transactions do not wait for it. */
const GAP_MS = 2 * CLOCKS_MS;
const REVERSED_STATUSES = ['REFUNDED', 'FAILED', 'REJECTED'];
/** Poll intervals between two passes. */
const REVERSALS_INTERVALS = 12;
const SWEEP_INTERVALS = 60;
/** The sweep gets at most a quarter of the budget, the reversals a fifth: else they would use all that others leave. */
const SWEEP_PACE_CALLS = 4;
const REVERSALS_PACE_CALLS = 5;
/** How often we plan revisits within an interval. */
const PLANS_PER_INTERVAL = 4;
/** Calls planned at once for revisits; more with a large budget. */
const PLAN_CALLS_MIN = 20;
const MERGE_GAP_MAX_MS = 600_000;
const MERGE_GAP_MIN_MS = 1_000;

export class PollAgenda {
  readonly #options: AgendaOptions;
  readonly #kept: Pick<PollRecord, 'startMs' | 'forgottenAfterMs' | 'forgottenToMs'>;
  readonly #discovery: PollDiscovery;
  readonly #catchUp: CatchUp;
  #revisits: Cluster[] = [];
  #revisit: { cluster: Cluster; scan: PollScan; beganMs: number } | null = null;
  #planMs: number;
  #reversals: PollWalk[] = [];
  #reversalsDueMs: number;
  #sweep: PollWalk | null;
  #sweepDueMs: number;
  #sweptAtMs: number | null;
  /** Transactions per millisecond of creation time, from recent pages. */
  #density = 0;
  /** Stride scheduling: the kind with the least is next. */
  readonly #passes = new Map<PollWorkKind, number>();
  #lastPass = 0;

  constructor(options: AgendaOptions, record: PollRecord, nowMs: number) {
    this.#options = options;
    const { forgottenAfterMs, forgottenToMs, startMs } = record;
    this.#kept = { startMs, forgottenAfterMs, forgottenToMs };
    const isGap = nowMs - record.discoveredToMs > GAP_MS;
    // After a long quiet time, the states of the transactions listed last are forgotten: an overlap would announce them again.
    const mayOverlap = record.discoveredToMs >= options.forgottenToMs;
    this.#catchUp = new CatchUp(record.unlisted, startMs);
    if (isGap) this.#catchUp.add({ fromMs: record.discoveredToMs + (mayOverlap ? -CLOCKS_MS : 1), toMs: nowMs });
    // A recorded time in the future comes from a clock that was ahead.
    const discoveredToMs = isGap ? nowMs - CLOCKS_MS : Math.min(record.discoveredToMs, nowMs);
    this.#discovery = new PollDiscovery(options, discoveredToMs, nowMs);
    this.#sweptAtMs = record.sweptAtMs;
    this.#sweep = record.sweep === null ? null : sweepWalk(record.sweep);
    this.#sweepDueMs = Math.min(record.sweptAtMs ?? nowMs, nowMs) + options.intervalMs * SWEEP_INTERVALS;
    this.#reversalsDueMs = nowMs + options.intervalMs * REVERSALS_INTERVALS;
    this.#planMs = nowMs;
  }

  /** The next page to ask for; null: nothing is due. Each kind keeps its page until `took` is called for it. */
  next(nowMs: number): PollWork | null {
    let next: PollWork | null = null;
    let least = Infinity;
    for (const kind of Object.keys(WEIGHTS) as PollWorkKind[]) {
      const pass = Math.max(this.#passes.get(kind) ?? 0, this.#lastPass);
      if (pass >= least) continue;
      const scan = this.#scanOf(kind, nowMs);
      if (scan === null) continue;
      least = pass;
      next = { kind, scan };
    }
    return next;
  }

  /** A page showed these creation times. */
  listed(work: PollWork, createdAt: readonly (string | null)[]): void {
    if (work.kind === 'discovery') this.#discovery.listed(createdAt);
  }

  /**
   * The page was answered, or failed; its news is in the outbox.
   * @returns creation times that the catch-up leaves for later, because they cannot be read; null: none
   */
  took({ kind, scan }: PollWork, nowMs: number): TimeRange | null {
    const pass = Math.max(this.#passes.get(kind) ?? 0, this.#lastPass);
    this.#lastPass = pass;
    this.#passes.set(kind, pass + 1 / WEIGHTS[kind]);
    if (scan.stage === 'whole' || scan.stage === 'too-long') this.#measure(scan, nowMs);
    switch (kind) {
      case 'discovery':
        this.#catchUp.add(this.#discovery.took(nowMs));
        break;
      case 'revisit':
        if (this.#revisit === null || scan.stage === 'reading') break;
        this.#options.watch.looked(this.#revisit.cluster, this.#revisit.beganMs, nowMs, scan.stage === 'whole');
        this.#revisit = null;
        break;
      case 'catch-up':
        return this.#catchUp.advance(nowMs);
      case 'reversals':
        this.#tookReversals(nowMs);
        break;
      case 'sweep':
        this.#tookSweep(nowMs);
        break;
    }
    return null;
  }

  record(): PollRecord {
    return {
      ...this.#kept,
      discoveredToMs: this.#discovery.discoveredToMs,
      unlisted: this.#catchUp.unlisted(),
      sweep: this.#sweep?.left() ?? null,
      sweptAtMs: this.#sweptAtMs,
    };
  }

  #scanOf(kind: PollWorkKind, nowMs: number): PollScan | null {
    switch (kind) {
      case 'discovery':
        return this.#discovery.scan(nowMs);
      case 'revisit':
        return this.#revisitScan(nowMs);
      case 'catch-up':
        return this.#catchUp.scan(nowMs);
      case 'reversals':
        if (nowMs < this.#reversalsDueMs) return null;
        if (this.#reversals.length === 0) {
          const range = this.#watchedRange(nowMs);
          this.#reversals = REVERSED_STATUSES.map((status) => reversalsWalk(range, status));
        }
        return this.#reversals[0]?.scan() ?? null;
      case 'sweep':
        if (nowMs < this.#sweepDueMs) return null;
        this.#sweep ??= sweepWalk(this.#watchedRange(nowMs));
        return this.#sweep.scan();
    }
  }

  #revisitScan(nowMs: number): PollScan | null {
    if (this.#revisit !== null) return this.#revisit.scan;
    if (this.#revisits.length === 0 && nowMs >= this.#planMs) {
      const planMs = this.#options.intervalMs / PLANS_PER_INTERVAL;
      this.#planMs = nowMs + planMs;
      const callsMax = Math.max(PLAN_CALLS_MIN, (2 * planMs) / this.#options.callMs);
      this.#revisits = this.#options.watch.due(nowMs, this.#mergeGapMs(), callsMax);
    }
    const cluster = this.#revisits.shift();
    if (cluster === undefined) return null;
    this.#revisit = { cluster, scan: new PollScan(cluster.window), beganMs: nowMs };
    return this.#revisit.scan;
  }

  #tookReversals(nowMs: number): void {
    const [walk] = this.#reversals;
    walk?.advance();
    if (walk?.left() === null) this.#reversals.shift();
    const { callMs, intervalMs } = this.#options;
    const isDone = this.#reversals.length === 0;
    this.#reversalsDueMs = nowMs + (isDone ? intervalMs * REVERSALS_INTERVALS : callMs * REVERSALS_PACE_CALLS);
  }

  #tookSweep(nowMs: number): void {
    const { callMs, intervalMs } = this.#options;
    this.#sweep?.advance();
    this.#sweepDueMs = nowMs + callMs * SWEEP_PACE_CALLS;
    if (this.#sweep?.left() !== null) return;
    if (this.#sweep.isWhole()) this.#sweptAtMs = nowMs;
    this.#sweep = null;
    this.#sweepDueMs = nowMs + intervalMs * SWEEP_INTERVALS;
  }

  /** Creation times of watched terminal transactions, except those that took long to finish. */
  #watchedRange(nowMs: number): TimeRange {
    return { fromMs: nowMs - this.#options.terminalForMs - LATE_AFTER_MS, toMs: nowMs + CLOCKS_MS };
  }

  #measure(scan: PollScan, nowMs: number): void {
    const { fromMs, status, toMs } = scan.window;
    if (status !== null) return;
    const lengthMs = Math.max(1_000, (toMs ?? nowMs) - fromMs);
    this.#density = (this.#density + scan.listed / lengthMs) / 2;
  }

  /** Up to this gap, reading on is cheaper than another call: half a page of other transactions. */
  #mergeGapMs(): number {
    const gapMs = this.#density === 0 ? MERGE_GAP_MAX_MS : PAGE_LIMIT / 2 / this.#density;
    return Math.max(MERGE_GAP_MIN_MS, Math.min(gapMs, MERGE_GAP_MAX_MS));
  }
}

function sweepWalk(range: TimeRange): PollWalk {
  return new PollWalk(range, { status: null });
}

/** In slices as long as possible, because there are few. */
function reversalsWalk(range: TimeRange, status: string): PollWalk {
  return new PollWalk(range, { status, sliceMs: range.toMs - range.fromMs });
}
