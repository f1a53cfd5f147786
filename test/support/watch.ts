/** Waits for a condition: checks it after every change, and a last time at the timeout. */

/** How often it is checked without a change, for conditions that depend only on time. */
const LOOK_MS = 50;

export class Watch {
  readonly #looks = new Set<() => void>();

  /** Reports a change: every waiting call checks its condition again. */
  changed(): void {
    for (const look of this.#looks) look();
  }

  /**
   * @param what names the condition in the error
   * @throws what the condition throws, or an Error at the timeout
   */
  async until(condition: () => boolean, timeoutMs: number, what: () => string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const look = (): void => {
      try {
        if (condition()) resolve(undefined);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    // After a stall, Node runs timers before pending I/O; let that I/O in before the last check.
    const timer = setTimeout(() => {
      setImmediate(() => {
        look();
        reject(new Error(`waited ${timeoutMs} ms for ${what()}`));
      });
    }, timeoutMs);
    const interval = setInterval(look, LOOK_MS);
    this.#looks.add(look);
    look();
    await promise.finally(() => {
      clearTimeout(timer);
      clearInterval(interval);
      this.#looks.delete(look);
    });
  }
}

/** Polls, for conditions that need a request, such as the sandbox's counts. */
export async function eventually<Value>(
  ask: () => Promise<Value>,
  isRight: (value: Value) => boolean,
  what: string,
  timeoutMs = 60_000,
): Promise<Value> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await ask();
    if (isRight(value)) return value;
    if (performance.now() > untilMs) {
      throw new Error(`waited ${timeoutMs} ms for ${what}; the last answer was ${JSON.stringify(value)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
