/**
 * Transactions that the agenda revisits: open ones, and those of executed quotes that no page has shown yet. Also those
 * whose order of changes is unclear, or that ended so late that the passes over recent ones would miss a change. The
 * agenda's other work watches the rest. No I/O; fed with the states of the index.
 */
import { isFinalStatus } from 'payment-processor-contract/statuses';
import { instantOf, type TransactionState } from '../transaction-state.ts';
import { PollTurns, type Cluster, type Due } from './turns.ts';

export interface WatchOptions {
  /** Time between looks at a young transaction. */
  readonly intervalMs: number;
  /** How long a terminal transaction is watched. */
  readonly terminalForMs: number;
}

interface Watched {
  /** Creation time as far as we know, and how far it may be off. */
  readonly createdMs: number;
  readonly marginMs: number;
  /** When it was created, changed, or touched by a command, whichever came last: the age of an open one counts from there. */
  readonly touchedMs: number;
  /** Known only from its quote. */
  readonly isUnseen: boolean;
  readonly terminalSinceMs: number | null;
  readonly isUnclear: boolean;
  lookedMs: number;
  /** Looks in a row that did not show it. */
  misses: number;
}

/** Looks within the age of a transaction: the older it is, the longer the pause. A touch restarts the age. */
const LOOKS_PER_AGE = 60;
const OPEN_INTERVAL_MAX_MS = 15 * 60_000;
/** Terminal transactions rarely change: the same rule, in coarser steps. */
const LOOKS_PER_TERMINAL_AGE = 20;
const TERMINAL_INTERVALS_MIN = 12;
const INTERVAL_MAX_MS = 3_600_000;
/** A transaction that took longer to finish may be older than the range that the passes over terminal ones read. */
export const LATE_AFTER_MS = 3_600_000;
/** Bounds memory, to about 40 MB; further transactions are not revisited. */
const WATCHED_MAX = 200_000;
/** If the service does not say when it was created, we search around the last request recorded in its state. */
const GUESS_MARGIN_MS = 5 * 60_000;
/** A transaction is created with its quote. */
const QUOTE_MARGIN_MS = 5_000;

export class PollWatch {
  readonly #options: WatchOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #turns = new PollTurns();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  size(): number {
    return this.#watched.size;
  }

  /** Takes the current state of a transaction. */
  update(state: TransactionState, nowMs: number): void {
    const watched = watchedOf(state, nowMs);
    const before = this.#watched.get(state.id);
    if (watched === null || !this.#isToWatch(watched, nowMs)) this.#watched.delete(state.id);
    else if (before !== undefined) {
      this.#watched.set(state.id, { ...watched, lookedMs: Math.max(before.lookedMs, watched.lookedMs) });
    } else if (this.#watched.size < WATCHED_MAX) this.#watched.set(state.id, watched);
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
   * @param isWhole if so, a transaction that it did not show is not there, and we look for it less often
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
   * The transactions that are due, in turn.
   * @param mergeGapMs a gap in creation time that costs less to read through than an extra call
   * @param callsMax takes clusters for about this many calls, so that transactions that become due meanwhile have their turn
   */
  due(nowMs: number, mergeGapMs: number, callsMax: number): Cluster[] {
    const due: Due[] = [];
    for (const [id, watched] of this.#watched) {
      const { createdMs, lookedMs, marginMs, touchedMs } = watched;
      const waitedMs = nowMs - lookedMs;
      const touchLateness = waitedMs / this.#intervalMs(watched, nowMs - touchedMs, nowMs);
      if (touchLateness < 1) continue;
      if (!this.#isToWatch(watched, nowMs)) {
        this.#watched.delete(id);
        continue;
      }
      const lateness = waitedMs / this.#intervalMs(watched, nowMs - createdMs, nowMs);
      due.push({ id, lateness, touchLateness, waitedMs, fromMs: createdMs - marginMs, toMs: createdMs + marginMs });
    }
    return this.#turns.take(due, mergeGapMs, callsMax);
  }

  #isToWatch({ createdMs, isUnclear, isUnseen, terminalSinceMs, touchedMs }: Watched, nowMs: number): boolean {
    // The list may never show it.
    if (isUnseen) return nowMs - touchedMs < this.#options.terminalForMs;
    if (terminalSinceMs === null || isUnclear) return true;
    const isLate = terminalSinceMs - createdMs > LATE_AFTER_MS;
    return isLate && nowMs - terminalSinceMs < this.#options.terminalForMs;
  }

  /** @param ageMs of an open transaction */
  #intervalMs({ isUnclear, misses, terminalSinceMs }: Watched, ageMs: number, nowMs: number): number {
    const { intervalMs } = this.#options;
    if (isUnclear) return intervalMs;
    const usualMs =
      terminalSinceMs === null
        ? clamped(ageMs / LOOKS_PER_AGE, intervalMs, OPEN_INTERVAL_MAX_MS)
        : clamped(
            (nowMs - terminalSinceMs) / LOOKS_PER_TERMINAL_AGE,
            intervalMs * TERMINAL_INTERVALS_MIN,
            INTERVAL_MAX_MS,
          );
    return misses === 0 ? usualMs : Math.max(usualMs, Math.min(usualMs * 2 ** misses, INTERVAL_MAX_MS));
  }
}

/** Null for a quote that was not executed, and one whose transaction may be anywhere: we learn of it when it changes. */
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
    terminalSinceMs: isFinalStatus(state.status) ? (state.terminalSinceMs ?? state.seenEndedMs) : null,
    isUnclear: state.unclearSinceMs !== null,
    lookedMs: Math.min(nowMs, isUnseen ? state.quoteSeenEndedMs : state.seenEndedMs),
    misses: 0,
  };
}

/** Whether an answer to a command showed the quote executed. A status derived from the transaction does not count. */
function wasExecuted({ quoteIsDerived, quoteStatus }: TransactionState): boolean {
  return !quoteIsDerived && quoteStatus !== null && quoteStatus !== 'PENDING';
}

/**
 * Instants of the last change and the last command. Seeing a transaction for the first time does not count. Otherwise all would be
 * young after a catch-up, and the truly young ones would wait.
 */
function touchesOf(state: TransactionState): number[] {
  const updatedMs = instantOf(state.updatedAt);
  return [
    ...(updatedMs === null ? [] : [updatedMs]),
    ...(state.changes > 1 ? [state.seenEndedMs] : []),
    ...(state.quoteIsDerived ? [] : [state.quoteSeenEndedMs]),
  ];
}

function clamped(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}
