/**
 * Work on the records of one batch, so many at once: of one key in order, and none counts as passed before all that precede
 * it are done. A record whose work fails, and all after it, are not passed.
 */
interface Item {
  isDone: boolean;
  readonly onPassed: () => void;
}

export class KeyedWork {
  readonly #limit: number;
  readonly #running = new Set<Promise<void>>();
  /** Of each key that is worked on the work that was begun last. */
  readonly #tails = new Map<string, Promise<void>>();
  /** Not passed yet, in order. */
  readonly #items: Item[] = [];
  #failure: { error: unknown } | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Waits until one more may begin. @throws what work threw */
  async place(): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#running);
    if (this.#failure !== null) throw this.#failure.error;
  }

  /**
   * @param work resolves to whether the record is done
   * @param onPassed called in the order of the records
   * @param afterwards awaited before the place is free again
   */
  begin(key: string, work: () => Promise<boolean>, onPassed: () => void, afterwards: () => Promise<void>): void {
    const item: Item = { isDone: false, onPassed };
    this.#items.push(item);
    const running = (this.#tails.get(key) ?? Promise.resolve())
      .then(async () => {
        if (this.#failure !== null) return;
        item.isDone = await work();
        this.#pass();
        if (item.isDone) await afterwards();
      })
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(running);
        if (this.#tails.get(key) === running) this.#tails.delete(key);
      });
    this.#running.add(running);
    this.#tails.set(key, running);
  }

  /** Waits for all that was begun; never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Waits for all that was begun. @throws what work threw */
  async finish(): Promise<void> {
    await this.settled();
    if (this.#failure !== null) throw this.#failure.error;
  }

  #pass(): void {
    while (this.#items[0]?.isDone === true) this.#items.shift()?.onPassed();
  }
}
