/**
 * A delayed wake, for work that can wait a while to be done together with other work.
 *
 *   idle -> begun: the timer runs -> over: it has called `wake` -> ended: idle
 *
 * Owns one timer.
 */
export class DelayedWake {
  readonly #wake: () => void;
  readonly #waitMs: number;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(waitMs: number, wake: () => void) {
    this.#waitMs = waitMs;
    this.#wake = wake;
  }

  /** Does nothing if it has already begun. */
  begin(): void {
    this.#timer ??= setTimeout(() => {
      this.#isOver = true;
      this.#wake();
    }, this.#waitMs);
  }

  /** The work has waited long enough. */
  isOver(): boolean {
    return this.#isOver;
  }

  /** No work waits any more. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isOver = false;
  }
}
