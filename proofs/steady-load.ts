/** A steady flow of commands: business as usual while something else happens. Pauses and begins again. */
import type { CommandType } from 'payment-processor-contract/commands';
import { transferInOf } from '../test/support/commands.ts';
import type { Stack } from '../test/support/stack.ts';

export interface Made {
  readonly type: CommandType;
  readonly fields: object;
}

const TICK_MS = 20;
/** Take-overs, doubts settled, a backlog processed. */
const ANSWERED_MS_MAX = 90_000;

export class SteadyLoad {
  /** When each was published that is confirmed (performance.now()), by key. */
  readonly publishedMs = new Map<string, number>();
  /** Publishes without confirmation: such a command may or may not be in Kafka. */
  failed = 0;
  readonly #stack: Stack;
  readonly #perSecond: number;
  readonly #keyOf: (index: number) => string;
  readonly #make: (key: string, index: number) => Promise<Made>;
  readonly #underWay = new Set<Promise<void>>();
  #count = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param name the prefix of its keys, or the function that makes them */
  constructor(
    stack: Stack,
    name: string | ((index: number) => string),
    perSecond: number,
    make: (key: string, index: number) => Promise<Made> = async (key) => ({
      type: 'transfer-in',
      fields: transferInOf(key),
    }),
  ) {
    this.#stack = stack;
    this.#keyOf = typeof name === 'string' ? (index) => `${name}-${index}` : name;
    this.#perSecond = perSecond;
    this.#make = make;
  }

  begin(): void {
    if (this.#timer !== null) return;
    const [beganMs, first] = [performance.now(), this.#count];
    this.#timer = setInterval(() => {
      const planned = first + Math.floor(((performance.now() - beganMs) / 1_000) * this.#perSecond);
      while (this.#count < planned) this.#publishNext();
    }, TICK_MS);
  }

  /** @returns once everything that was begun is published */
  async pause(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#underWay);
  }

  /** Pauses. @throws Error if a published command gets no result */
  async settled(): Promise<void> {
    await this.pause();
    await this.#stack.journal.resultsOfAll([...this.publishedMs.keys()], ANSWERED_MS_MAX);
  }

  /** From publishing to the result, of commands published between the two instants. Waits until each has its result. */
  async latenciesMs(fromMs: number, toMs: number): Promise<number[]> {
    const published = [...this.publishedMs].filter(([, atMs]) => atMs >= fromMs && atMs < toMs);
    const { journal } = this.#stack;
    await journal.resultsOfAll(
      published.map(([key]) => key),
      ANSWERED_MS_MAX,
    );
    return published.map(([key, atMs]) => Math.round((journal.arrivedMs(key) ?? Infinity) - atMs));
  }

  #publishNext(): void {
    const index = this.#count;
    this.#count += 1;
    const key = this.#keyOf(index);
    const publication = this.#publish(key, index).catch(() => void (this.failed += 1));
    this.#underWay.add(publication);
    void publication.then(() => this.#underWay.delete(publication));
  }

  async #publish(key: string, index: number): Promise<void> {
    const { fields, type } = await this.#make(key, index);
    const beganMs = performance.now();
    await this.#stack.publisher.publishUntyped(type, key, fields);
    this.publishedMs.set(key, beganMs);
  }
}
