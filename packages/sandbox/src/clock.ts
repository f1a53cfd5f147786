/** Time as an argument: the system's clock in production, one that tests move by hand. */

export interface Clock {
  /** Milliseconds since 1970; never goes back. */
  nowMs(): number;
  /** Calls `wake` about when the clock reaches the instant. Returns a function that cancels it. */
  wakeAt(instantMs: number, wake: () => void): () => void;
}

/** The longest delay that Node's timers accept. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The system's clock. Its timers do not keep the process alive: the listening server does. */
export function systemClock(): Clock {
  let lastMs = 0;
  const nowMs = (): number => (lastMs = Math.max(lastMs, Date.now()));
  return {
    nowMs,
    wakeAt(instantMs, wake) {
      const timer = setTimeout(wake, Math.min(Math.max(instantMs - nowMs(), 0), TIMER_MAX_MS)).unref();
      return () => clearTimeout(timer);
    },
  };
}

/** A clock that moves only when it is advanced; due callbacks run in order, each at its own instant. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #wakes = new Set<{ instantMs: number; wake: () => void }>();

  constructor(startMs = Date.parse('2026-01-01T00:00:00Z')) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wakeAt(instantMs: number, wake: () => void): () => void {
    const entry = { instantMs, wake };
    this.#wakes.add(entry);
    return () => void this.#wakes.delete(entry);
  }

  /** Advances the clock by `durationMs` and runs the callbacks that fall due. */
  advance(durationMs: number): void {
    const targetMs = this.#nowMs + durationMs;
    for (;;) {
      const due = [...this.#wakes].filter((entry) => entry.instantMs <= targetMs);
      const next = due.sort((left, right) => left.instantMs - right.instantMs)[0];
      if (next === undefined) break;
      this.#wakes.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.instantMs);
      next.wake();
    }
    this.#nowMs = targetMs;
  }
}
