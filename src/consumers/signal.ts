/** Wakes one waiter. Wakes without a waiter merge into one, which ends the next `wait` at once. */
export class Signal {
  #isSet = false;
  #waiter: (() => void) | null = null;

  wake(): void {
    this.#isSet = true;
    this.#waiter?.();
  }

  /** Resolves at the next wake, or after this time. */
  async wait(durationMs: number): Promise<void> {
    if (!this.#isSet) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, durationMs);
        this.#waiter = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#waiter = null;
    }
    this.#isSet = false;
  }
}

export function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
