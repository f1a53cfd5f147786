/** When the entries of a lane are due: one timer each, and the set of those whose time has come. */
import type { Clock } from 'payment-processor-contract/clock';
import { wakeAtMs, type Entry } from '../ledger/entry.ts';

export class Timers {
  readonly #clock: Clock;
  readonly #waitMaxMs: number;
  readonly #wake: () => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** For which instant each timer was set last. */
  readonly #instants = new Map<string, number>();
  /** Keys of entries that are due; they stay until they could be handled. */
  readonly due = new Set<string>();

  /** @param waitMaxMs for no entry longer, whatever instant it has; at most what a timer of the platform can hold */
  constructor(clock: Clock, waitMaxMs: number, wake: () => void) {
    this.#clock = clock;
    this.#waitMaxMs = waitMaxMs;
    this.#wake = wake;
  }

  /**
   * Sets the entry's timer by its phase, in place of an earlier one. One for the same instant stays: the entry was committed
   * to note a copy, and the clock may have been set since.
   * @param aheadMs how far the wall clock was ahead of the monotonic one when the phase got its instant
   */
  set(entry: Entry, aheadMs: number): void {
    const { key } = entry;
    const atMs = wakeAtMs(entry);
    if (atMs === this.#instants.get(key) && (this.due.has(key) || this.#timers.has(key))) return;
    clearTimeout(this.#timers.get(key));
    this.due.delete(key);
    this.#timers.delete(key);
    this.#instants.delete(key);
    if (atMs === null) return;
    this.#instants.set(key, atMs);
    this.#arm(key, Math.min(atMs - aheadMs, this.#clock.monotonicMs() + this.#waitMaxMs));
  }

  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#instants.clear();
    this.due.clear();
  }

  /** From here on the wall clock may be set as it will. */
  #arm(key: string, atMonotonicMs: number): void {
    const waitMs = atMonotonicMs - this.#clock.monotonicMs();
    if (waitMs > 0) {
      // Looked at anew: the timer may be early, by a little.
      this.#timers.set(
        key,
        setTimeout(() => this.#arm(key, atMonotonicMs), waitMs),
      );
      return;
    }
    this.#timers.delete(key);
    this.due.add(key);
    this.#wake();
  }
}
