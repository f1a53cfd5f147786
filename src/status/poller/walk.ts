/** A walk over a long range of creation time, in slices whose transactions fit into one pass. No I/O. */
import type { TimeRange } from './record.ts';
import { PollScan } from './scan.ts';

/** Smallest slice. If one pass cannot list the transactions of a second, the walk skips the rest. */
const SLICE_MIN_MS = 1_000;
const SLICE_FIRST_MS = 3_600_000;
const SLICE_MAX_MS = 7 * 86_400_000;
/** After a slice with fewer transactions than this, the next one is longer. */
const FEW_LISTED = 1_000;

export interface WalkOptions {
  /** Null: any. */
  readonly status: string | null;
  /** Length of the first slice; an hour unless given. */
  readonly sliceMs?: number;
}

export class PollWalk {
  readonly #options: WalkOptions;
  #left: TimeRange | null;
  #sliceMs: number;
  #scan: PollScan | null = null;
  #isWhole = true;

  constructor(range: TimeRange, options: WalkOptions) {
    this.#left = range;
    this.#options = options;
    this.#sliceMs = Math.max(SLICE_MIN_MS, Math.min(options.sliceMs ?? SLICE_FIRST_MS, SLICE_MAX_MS));
  }

  /** The range that is yet to be listed; null: none is left. */
  left(): TimeRange | null {
    return this.#left;
  }

  /** Whether nothing was skipped. */
  isWhole(): boolean {
    return this.#isWhole;
  }

  /** The current pass; null at the end. */
  scan(): PollScan | null {
    if (this.#left === null) return null;
    this.#scan ??= new PollScan({
      fromMs: this.#left.fromMs,
      toMs: Math.min(this.#left.toMs, this.#left.fromMs + this.#sliceMs),
      status: this.#options.status,
    });
    return this.#scan;
  }

  /** Call it after each page: moves to the next slice when the current one has ended. */
  advance(): void {
    const scan = this.#scan;
    if (scan === null || this.#left === null || scan.stage === 'reading') return;
    this.#scan = null;
    if (scan.stage !== 'whole') {
      // A smaller slice has fewer pages, which also helps if cursors fail.
      if (this.#sliceMs > SLICE_MIN_MS) {
        this.#sliceMs = Math.max(SLICE_MIN_MS, Math.floor(this.#sliceMs / 4));
        return;
      }
      this.#isWhole = false;
    }
    const endMs = scan.window.toMs ?? this.#left.toMs;
    this.#left = endMs >= this.#left.toMs ? null : { ...this.#left, fromMs: endMs };
    if (scan.listed < FEW_LISTED) this.#sliceMs = Math.min(SLICE_MAX_MS, this.#sliceMs * 2);
  }
}
