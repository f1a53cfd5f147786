/**
 * For what can wait a while for something else that is done with it.
 *
 *   at rest -> begun: it waits -> over: it wakes, and waits no longer -> ended: at rest
 *
 * Owns one timer.
 */
export class LateWake {
  readonly #wake: () => void;
  readonly #waitMs: number;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(waitMs: number, wake: () => void) {
    this.#waitMs = waitMs;
    this.#wake = wake;
  }

  /** It goes on where it has begun. */
  begin(): void {
    this.#timer ??= setTimeout(() => {
      this.#isOver = true;
      this.#wake();
    }, this.#waitMs);
  }

  /** It has waited long enough. */
  isOver(): boolean {
    return this.#isOver;
  }

  /** Nothing is left that waits. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isOver = false;
  }
}
