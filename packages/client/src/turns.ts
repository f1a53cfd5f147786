/** Limits how many callers work at once; the others wait for their turn. */
import { onAbort } from './on-abort.ts';

export class Turns {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(max: number) {
    this.#free = max;
  }

  /** @returns true: call `end` afterwards. False: the signal came first */
  async begin(signal: AbortSignal): Promise<boolean> {
    while (this.#free === 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const wake = (): void => resolve(undefined);
      this.#waiting.add(wake);
      const listenNoMore = onAbort(signal, wake);
      await promise;
      listenNoMore();
      this.#waiting.delete(wake);
    }
    if (!signal.aborted) {
      this.#free -= 1;
      return true;
    }
    // If it was woken for a free turn, it passes that on.
    if (this.#free > 0) this.#wakeNext();
    return false;
  }

  end(): void {
    this.#free += 1;
    this.#wakeNext();
  }

  #wakeNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}
