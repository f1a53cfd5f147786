/** When the entries of a lane are due: one timer each, and the set of those whose time has come. */
import type { Clock } from '../clock.ts';
import { wakeAtMs, type Entry } from '../ledger/entry.ts';

/** What a timer of the platform can hold. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export class LaneAlarms {
  readonly #clock: Clock;
  readonly #wake: () => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Keys of entries that are due; they stay until they could be handled. */
  readonly due = new Set<string>();

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Sets the entry's alarm by its phase, in place of an earlier one. */
  set(entry: Entry): void {
    clearTimeout(this.#timers.get(entry.key));
    this.due.delete(entry.key);
    this.#timers.delete(entry.key);
    const atMs = wakeAtMs(entry);
    if (atMs === null) return;
    const waitMs = Math.min(atMs - this.#clock.nowMs(), TIMER_MAX_MS);
    if (waitMs > 0) {
      // Looked at anew: the timer may be early, by a little or because it could hold no more.
      this.#timers.set(
        entry.key,
        setTimeout(() => this.set(entry), waitMs),
      );
      return;
    }
    this.due.add(entry.key);
    this.#wake();
  }

  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.due.clear();
  }
}
