/** Waits for what others bring about: the condition is looked at whenever something changed, and a last time at the end. */

/** Looked at as often without a change, for conditions that time alone brings about. */
const LOOK_MS = 50;

export class Watch {
  readonly #looks = new Set<() => void>();

  /** Something changed: everybody who waits looks again. */
  changed(): void {
    for (const look of this.#looks) look();
  }

  /**
   * @param what is awaited, for the error
   * @throws what the condition throws; an Error when it does not come true in time
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
    // After a standstill timers come before what has arrived meanwhile: that is taken in first.
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

/** For conditions that have to be asked for, such as the sandbox's counts. */
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
