/** When the entries of a lane are due: one timer each, and the set of those whose time has come. */
import type { Clock } from 'payment-processor-contract/clock';
import { wakeAtMs, type Entry } from '../ledger/entry.ts';

export class Timers {
  readonly #clock: Clock;
  readonly #waitMaxMs: number;
  readonly #wake: () => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** The instant that each timer was last set for. */
  readonly #instants = new Map<string, number>();
  /** Keys of entries that are due; they stay until they have been handled. */
  readonly due = new Set<string>();

  /** @param waitMaxMs longest wait of any entry, whatever its instant; must fit a Node timer */
  constructor(clock: Clock, waitMaxMs: number, wake: () => void) {
    this.#clock = clock;
    this.#waitMaxMs = waitMaxMs;
    this.#wake = wake;
  }

  /**
   * Sets the entry's timer by its phase, and replaces an earlier one. A timer for the same instant stays: the entry only noted a
   * copy, and a change of the wall clock since must not move it.
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

  /** Uses only the monotonic clock, so changes of the wall clock do not matter from here on. */
  #arm(key: string, atMonotonicMs: number): void {
    const waitMs = atMonotonicMs - this.#clock.monotonicMs();
    if (waitMs > 0) {
      // Check the time again: a timer may fire slightly early.
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
