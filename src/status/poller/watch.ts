/**
 * Transactions that are looked at one by one: open ones, those of executed quotes that no page has shown yet, and those
 * whose last change a pass over recent ones would not come by. No I/O; fed by the states of the index. All others are
 * watched by the passes of the agenda.
 */
import { instantOf, isTerminal, type TransactionState } from '../transaction-state.ts';
import type { Window } from './scan.ts';

export interface WatchOptions {
  /** Time between looks at a young transaction. */
  readonly intervalMs: number;
  /** How long a terminal transaction is watched. */
  readonly terminalForMs: number;
}

/** Transactions that one pass over a window is to show. */
export interface Cluster {
  readonly window: Window;
  readonly ids: readonly string[];
}

interface Watched {
  /** Creation time, and how far it may be from that. */
  readonly createdMs: number;
  readonly marginMs: number;
  /** When it was made, changed, or touched by a command, whichever came last: from there its age counts while it is open. */
  readonly touchedMs: number;
  /** Known by its quote alone. */
  readonly isUnseen: boolean;
  readonly terminalSinceMs: number | null;
  readonly isUnclear: boolean;
  lookedMs: number;
  /** Looks in a row that did not show it. */
  misses: number;
}

/** A change is seen after a fraction of the transaction's age, which begins anew when it is touched. */
const LOOKS_PER_AGE = 60;
const OPEN_INTERVAL_MAX_MS = 15 * 60_000;
/** Terminal ones rarely change: the same rule, in coarser steps. */
const LOOKS_PER_TERMINAL_AGE = 20;
const TERMINAL_INTERVALS_MIN = 12;
const INTERVAL_MAX_MS = 3_600_000;
/** One that took longer to its end may be older than what the passes over terminal ones go through. */
export const LATE_AFTER_MS = 3_600_000;
/** Bounds memory, about 40 MB; beyond, transactions are found by the sweep alone. */
const WATCHED_MAX = 200_000;
/** Where the service does not say when it was created: around when we first saw it. */
const GUESS_MARGIN_MS = 5 * 60_000;
/** A transaction is made with its quote. */
const QUOTE_MARGIN_MS = 5_000;
/** Taken at a time, so that what becomes due meanwhile has its turn. */
const DUE_MAX = 2_000;
/** Of one window: ten pages, with room for its neighbours at the edges, who would make an eleventh. */
const CLUSTER_MAX = 960;

export class PollWatch {
  readonly #options: WatchOptions;
  readonly #watched = new Map<string, Watched>();
  #unwatched = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  size(): number {
    return this.#watched.size;
  }

  /** Open transactions there was no room for, so far. */
  unwatched(): number {
    return this.#unwatched;
  }

  /** Takes in the present state of a transaction. */
  update(state: TransactionState, nowMs: number): void {
    const watched = watchedOf(state, nowMs);
    const before = this.#watched.get(state.id);
    if (watched === null || !this.#isToWatch(watched, nowMs)) this.#watched.delete(state.id);
    else if (before !== undefined) {
      this.#watched.set(state.id, { ...watched, lookedMs: Math.max(before.lookedMs, watched.lookedMs) });
    } else if (this.#watched.size < WATCHED_MAX) this.#watched.set(state.id, watched);
    else this.#unwatched += 1;
  }

  /** A page showed it. */
  listed(id: string, nowMs: number): void {
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    watched.lookedMs = nowMs;
    watched.misses = 0;
  }

  /**
   * The pass over the cluster has ended.
   * @param isWhole what it did not show is not there: it is looked for less often
   */
  looked(cluster: Cluster, beganMs: number, nowMs: number, isWhole: boolean): void {
    for (const id of cluster.ids) {
      const watched = this.#watched.get(id);
      if (watched === undefined || watched.lookedMs >= beganMs) continue;
      watched.lookedMs = nowMs;
      if (isWhole) watched.misses += 1;
    }
  }

  /**
   * What is due, as windows that hold neighbours together. Where the budget is too small for all, half of it goes to those
   * that are the most overdue for their age, who are the likeliest to have changed, and half to those that have waited
   * longest, so that nobody waits for more than twice the time that all of them take.
   * @param mergeGapMs a gap in creation time that costs less to read through than a call of its own
   */
  due(nowMs: number, mergeGapMs: number): Cluster[] {
    const due: Due[] = [];
    for (const [id, watched] of this.#watched) {
      const waitedMs = nowMs - watched.lookedMs;
      const lateness = waitedMs / this.#intervalMs(watched, nowMs);
      if (lateness < 1) continue;
      const { createdMs, marginMs } = watched;
      if (!this.#isToWatch(watched, nowMs)) this.#watched.delete(id);
      else due.push({ id, lateness, waitedMs, fromMs: createdMs - marginMs, toMs: createdMs + marginMs });
    }
    due.sort((left, right) => left.fromMs - right.fromMs);
    const clusters = clustersOf(due, mergeGapMs);
    const inTurn = alternately(
      clusters.toSorted((left, right) => right.lateness - left.lateness),
      clusters.toSorted((left, right) => right.waitedMs - left.waitedMs),
    );
    let count = 0;
    const taken = inTurn.filter(({ ids }) => (count += ids.length) - ids.length < DUE_MAX);
    return taken.map(({ fromMs, ids, toMs }) => ({ ids, window: { fromMs, toMs, status: null } }));
  }

  #isToWatch({ createdMs, isUnclear, isUnseen, terminalSinceMs, touchedMs }: Watched, nowMs: number): boolean {
    // The list may never show it.
    if (isUnseen) return nowMs - touchedMs < this.#options.terminalForMs;
    if (terminalSinceMs === null || isUnclear) return true;
    const isLate = terminalSinceMs - createdMs > LATE_AFTER_MS;
    return isLate && nowMs - terminalSinceMs < this.#options.terminalForMs;
  }

  #intervalMs({ isUnclear, misses, terminalSinceMs, touchedMs }: Watched, nowMs: number): number {
    const { intervalMs } = this.#options;
    if (isUnclear) return intervalMs;
    const usualMs =
      terminalSinceMs === null
        ? clamped((nowMs - touchedMs) / LOOKS_PER_AGE, intervalMs, OPEN_INTERVAL_MAX_MS)
        : clamped(
            (nowMs - terminalSinceMs) / LOOKS_PER_TERMINAL_AGE,
            intervalMs * TERMINAL_INTERVALS_MIN,
            INTERVAL_MAX_MS,
          );
    return misses === 0 ? usualMs : Math.max(usualMs, Math.min(usualMs * 2 ** misses, INTERVAL_MAX_MS));
  }
}

/** Null for a quote that was not executed, and one whose transaction may be anywhere: others come by what becomes of it. */
function watchedOf(state: TransactionState, nowMs: number): Watched | null {
  const createdMs = instantOf(state.createdAt);
  const isUnseen = state.status === null;
  if (isUnseen && (createdMs === null || !wasExecuted(state))) return null;
  const placeMs = createdMs ?? state.seenBeganMs;
  return {
    createdMs: placeMs,
    marginMs: createdMs === null ? GUESS_MARGIN_MS : isUnseen ? QUOTE_MARGIN_MS : 0,
    // A clock that is ahead must not keep it young for longer than others.
    touchedMs: Math.min(nowMs, Math.max(placeMs, ...touchesOf(state))),
    isUnseen,
    terminalSinceMs: isTerminal(state.status) ? (state.terminalSinceMs ?? state.seenEndedMs) : null,
    isUnclear: state.unclearSinceMs !== null,
    lookedMs: Math.min(nowMs, isUnseen ? state.quoteSeenEndedMs : state.seenEndedMs),
    misses: 0,
  };
}

/** What the answer to a command said of a quote; a status that follows from the transaction's says nothing of its own. */
function wasExecuted({ quoteIsDerived, quoteStatus }: TransactionState): boolean {
  return !quoteIsDerived && quoteStatus !== null && quoteStatus !== 'PENDING';
}

/**
 * Instants of the last change and the last command. First sight is no touch: all that is caught up with would be young at
 * once, and what really is would wait.
 */
function touchesOf(state: TransactionState): number[] {
  const updatedMs = instantOf(state.updatedAt);
  return [
    ...(updatedMs === null ? [] : [updatedMs]),
    ...(state.changes > 1 ? [state.seenEndedMs] : []),
    ...(state.quoteIsDerived ? [] : [state.quoteSeenEndedMs]),
  ];
}

interface Due {
  readonly id: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Intervals that have passed. */
  readonly lateness: number;
  readonly waitedMs: number;
}

interface DueCluster {
  fromMs: number;
  toMs: number;
  /** The most of any of them. */
  lateness: number;
  waitedMs: number;
  readonly ids: string[];
}

/** @param sorted by where they begin */
function clustersOf(sorted: readonly Due[], mergeGapMs: number): DueCluster[] {
  const clusters: DueCluster[] = [];
  for (const { fromMs, id, lateness, toMs, waitedMs } of sorted) {
    const last = clusters.at(-1);
    if (last !== undefined && fromMs - last.toMs <= mergeGapMs && last.ids.length < CLUSTER_MAX) {
      last.toMs = Math.max(last.toMs, toMs);
      last.lateness = Math.max(last.lateness, lateness);
      last.waitedMs = Math.max(last.waitedMs, waitedMs);
      last.ids.push(id);
    } else clusters.push({ fromMs, toMs, lateness, waitedMs, ids: [id] });
  }
  return clusters;
}

/** The first of the one order, the first of the other, and so on, each once. */
function alternately<Item>(one: readonly Item[], other: readonly Item[]): Item[] {
  return [...new Set(one.flatMap((item, place) => [item, other[place] ?? item]))];
}

function clamped(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}
