/** What is to be ended when the demo ends: in the opposite order of its start, once, whatever fails on the way. */

/** All of it takes one or two seconds; whatever holds it up must not hold up the terminal. */
const STOP_MS_MAX = 30_000;

export class Stops {
  readonly #stops: (() => Promise<void>)[] = [];
  #stopping: Promise<void> | null = null;

  add(stop: () => Promise<void>): void {
    this.#stops.push(stop);
  }

  /** @returns when all have ended, or a time limit is over; what is left then ends with this process */
  all(): Promise<void> {
    return (this.#stopping ??= this.#stopAll());
  }

  async #stopAll(): Promise<void> {
    const deadline = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => deadline.resolve(undefined), STOP_MS_MAX);
    await Promise.race([this.#oneByOne(), deadline.promise]);
    clearTimeout(timer);
  }

  async #oneByOne(): Promise<void> {
    for (const stop of this.#stops.toReversed()) {
      // What cannot be ended in order ends with this process; the others must still have their turn.
      await stop().catch(() => undefined);
    }
  }
}
