/**
 * One pass over the pages of a window of creation time. No I/O: the caller passes the outcome of each request.
 *
 *   reading -> whole     all pages were read
 *           -> too-long  the window has more pages than a pass may have: the caller lists the rest in other passes
 *           -> broken    the service refuses, omits or repeats cursors, even after restarts; or it keeps failing
 *
 * It assumes nothing about the order of pages, which may change while it reads. A transaction that moves to a page that
 * was already read is missed by this pass. A later pass finds it, because windows overlap and are read again.
 */
import { shorterLimit } from '../../api/transaction-list.ts';
import type { ListReading, TransactionFilter } from '../../api/types.ts';

export interface Window {
  /** Creation time, milliseconds since 1970, both ends included. */
  readonly fromMs: number;
  /** Null: no end. */
  readonly toMs: number | null;
  /** Null: any. */
  readonly status: string | null;
}

export type ScanStage = 'reading' | 'whole' | 'too-long' | 'broken';

/** The most that the API allows. */
export const PAGE_LIMIT = 100;
/** Pages of one pass: bounds the cost of a restart, and how much may change meanwhile. */
const PAGES_MAX = 50;
/** A refused cursor may have been too old. If restarts do not help, its age is not the reason. */
const RESTARTS_MAX = 2;
/** After this many failures in a row (held calls do not count) we give the window up: others must have their turn. */
const FAILURES_MAX = 5;
/** A service may compare whole seconds where we send milliseconds. */
const ROUNDING_MS = 1_000;

export class PollScan {
  readonly window: Window;
  #stage: ScanStage = 'reading';
  #cursor: string | null = null;
  #cursors = new Set<string>();
  #pages = 0;
  #restarts = 0;
  #failures = 0;
  #listed = 0;
  #limit = PAGE_LIMIT;

  constructor(window: Window) {
    this.window = window;
  }

  get stage(): ScanStage {
    return this.#stage;
  }

  /** Transactions listed, repeated ones included. */
  get listed(): number {
    return this.#listed;
  }

  filter(): TransactionFilter {
    const { fromMs, toMs, status } = this.window;
    return {
      startDate: isoOf(Math.max(0, fromMs - ROUNDING_MS)),
      ...(toMs === null ? {} : { endDate: isoOf(toMs + ROUNDING_MS) }),
      ...(status === null ? {} : { status }),
      limit: this.#limit,
      ...(this.#cursor === null ? {} : { cursor: this.#cursor }),
    };
  }

  /** Takes the outcome of the request with this filter. */
  take(reading: ListReading): void {
    if (reading.kind === 'failed') {
      const limit = shorterLimit(reading, this.#limit);
      if (limit !== null) {
        this.#limit = limit;
        return;
      }
      // A refused cursor restarts the pass. After any other failure the caller asks for the same page again.
      if (reading.cause === 'refused' && this.#cursor !== null) this.#restart();
      else if (reading.cause !== 'held' && (this.#failures += 1) >= FAILURES_MAX) this.#stage = 'broken';
      return;
    }
    this.#failures = 0;
    this.#pages += 1;
    this.#listed += reading.data.length;
    if (!reading.hasMore) this.#stage = 'whole';
    else if (reading.nextCursor === null || this.#cursors.has(reading.nextCursor)) this.#restart();
    else if (this.#pages >= PAGES_MAX) this.#stage = 'too-long';
    else {
      this.#cursor = reading.nextCursor;
      this.#cursors.add(reading.nextCursor);
    }
  }

  #restart(): void {
    this.#restarts += 1;
    if (this.#restarts > RESTARTS_MAX) this.#stage = 'broken';
    this.#cursor = null;
    this.#cursors = new Set();
    this.#pages = 0;
  }
}

function isoOf(ms: number): string {
  return new Date(Math.floor(ms)).toISOString();
}
