/**
 * One pass over the pages of a window of creation time. No I/O; what came of each request is handed in.
 *
 *   reading -> whole     all pages were read
 *           -> too-long  more pages than a pass may have: a smaller window is to be taken
 *           -> broken    cursors that are not taken, missing or going round, also after a restart; or no page again and again
 *
 * Nothing is assumed of the order of pages, and pages may change while they are read: what moves from a page not yet
 * read to one that was is missed by this pass, and found by a later one, for windows overlap and are read again.
 */
import type { ListReading, TransactionFilter } from '../../api/types.ts';

export interface Window {
  /** Creation time, milliseconds since 1970, both ends included. */
  readonly fromMs: number;
  /** Null: without end. */
  readonly toMs: number | null;
  /** Null: any. */
  readonly status: string | null;
}

export type ScanStage = 'reading' | 'whole' | 'too-long' | 'broken';

/** The most that the interface allows. */
export const PAGE_LIMIT = 100;
/** Pages of one pass: bounds what a restart costs, and how much may change meanwhile. */
const PAGES_MAX = 50;
/** A cursor that is refused once may have been too old; refused again, it is not the time. */
const RESTARTS_MAX = 2;
/** A window that fails this often in a row is left, so that others have their turn. */
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
      limit: PAGE_LIMIT,
      ...(this.#cursor === null ? {} : { cursor: this.#cursor }),
    };
  }

  /** Takes what came of the request with this filter. */
  take(reading: ListReading): void {
    if (reading.kind === 'failed') {
      // Any other failure leaves the scan where it is: the same page is asked for again.
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
