/** When the entries of a lane are due: one timer each, and the set of those whose time has come. */
import type { Clock } from 'payment-processor-contract/clock';
import { wakeAtMs, type Entry } from '../ledger/entry.ts';

export class Timers {
  readonly #clock: Clock;
  readonly #waitMaxMs: number;
  readonly #wake: () => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Keys of entries that are due; they stay until they could be handled. */
  readonly due = new Set<string>();

  /** @param waitMaxMs for no entry longer, whatever instant it has; at most what a timer of the platform can hold */
  constructor(clock: Clock, waitMaxMs: number, wake: () => void) {
    this.#clock = clock;
    this.#waitMaxMs = waitMaxMs;
    this.#wake = wake;
  }

  /**
   * Sets the entry's timer by its phase, in place of an earlier one.
   * @param aheadMs how far the wall clock was ahead of the monotonic one when the phase got its instant
   */
  set(entry: Entry, aheadMs: number): void {
    clearTimeout(this.#timers.get(entry.key));
    this.due.delete(entry.key);
    this.#timers.delete(entry.key);
    const atMs = wakeAtMs(entry);
    if (atMs === null) return;
    this.#arm(entry.key, Math.min(atMs - aheadMs, this.#clock.monotonicMs() + this.#waitMaxMs));
  }

  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
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
