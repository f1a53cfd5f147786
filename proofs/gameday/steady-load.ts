/** A steady flow of commands: normal business while the faults happen. */
import { transferInOf } from '../../test/support/commands.ts';
import type { Stack } from '../../test/support/stack.ts';

/** Limit after the last fault: lanes taken over, doubts settled, backlog processed. */
const ANSWERED_MS_MAX = 90_000;

export class SteadyLoad {
  /** Publishes without confirmation: such a command may or may not be in Kafka. */
  failed = 0;
  readonly #stack: Stack;
  readonly #name: string;
  readonly #perSecond: number;
  readonly #confirmed: string[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #count = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(stack: Stack, name: string, perSecond: number) {
    this.#stack = stack;
    this.#name = name;
    this.#perSecond = perSecond;
  }

  get published(): number {
    return this.#confirmed.length;
  }

  begin(): void {
    this.#timer ??= setInterval(() => this.#publishNext(), 1_000 / this.#perSecond);
  }

  async pause(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#underWay);
  }

  /** Pauses. @throws Error if a published command gets no result */
  async settled(): Promise<void> {
    await this.pause();
    await this.#stack.journal.resultsOfAll(this.#confirmed, ANSWERED_MS_MAX);
  }

  #publishNext(): void {
    this.#count += 1;
    const key = `${this.#name}-${this.#count}`;
    const publication = this.#stack.publisher.publish('transfer-in', key, transferInOf(key)).then(
      () => void this.#confirmed.push(key),
      () => void (this.failed += 1),
    );
    this.#underWay.add(publication);
    void publication.then(() => this.#underWay.delete(publication));
  }
}
