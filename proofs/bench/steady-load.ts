/** Transfers in at a steady rate, until it is stopped; it knows when each was published. */
import { transferInOf } from '../../test/support/commands.ts';
import type { Stack } from '../../test/support/stack.ts';

/** Waited for longer than a take-over may take, to tell late from never. */
const RESULT_MS_MAX = 60_000;

export class SteadyLoad {
  readonly #stack: Stack;
  readonly #timer: NodeJS.Timeout;
  readonly #publishedMs = new Map<string, number>();
  readonly #publishing = new Set<Promise<unknown>>();
  #failure: unknown = null;
  #count = 0;

  constructor(stack: Stack, perSecond: number) {
    this.#stack = stack;
    this.#timer = setInterval(() => this.#publish(), 1000 / perSecond);
  }

  /** From publishing to the result, of commands published between the two instants. Waits until each has its result. */
  async latenciesMs(fromMs: number, toMs: number): Promise<number[]> {
    const published = [...this.#publishedMs].filter(([, atMs]) => atMs >= fromMs && atMs < toMs);
    const { journal } = this.#stack;
    await this.#until(() => published.every(([key]) => journal.arrivedMs(key) !== undefined), 'each its result');
    return published.map(([key, atMs]) => Math.round((journal.arrivedMs(key) ?? Infinity) - atMs));
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#publishing);
  }

  #publish(): void {
    this.#count += 1;
    const key = `load-${this.#count}`;
    this.#publishedMs.set(key, performance.now());
    const publishing = this.#stack.publisher
      .publish('transfer-in', key, transferInOf(key))
      .catch((error: unknown) => (this.#failure = error))
      .finally(() => this.#publishing.delete(publishing));
    this.#publishing.add(publishing);
  }

  #until(condition: () => boolean, what: string): Promise<void> {
    const check = (): boolean => {
      if (this.#failure !== null) throw new Error('a command could not be published', { cause: this.#failure });
      return condition();
    };
    return this.#stack.journal.until(check, what, RESULT_MS_MAX);
  }
}
