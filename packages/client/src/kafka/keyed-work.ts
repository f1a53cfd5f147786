/**
 * Works on the records of one batch concurrently, up to a limit; records of one key stay in order. A record counts as passed
 * only when all earlier ones are done. A failed record and all after it do not pass.
 */
interface Item {
  isDone: boolean;
  readonly onPassed: () => void;
  /** Never rejects. */
  running: Promise<void>;
}

export class KeyedWork {
  readonly #limit: number;
  readonly #running = new Set<Item>();
  /** The latest item of each key in progress. */
  readonly #tails = new Map<string, Item>();
  /** Items not yet passed, in order. */
  readonly #items: Item[] = [];
  #failure: { error: unknown } | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Waits for a free slot. @throws the error of failed work */
  async slot(): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#promises());
    if (this.#failure !== null) throw this.#failure.error;
  }

  /**
   * @param work resolves to whether the record is done
   * @param onPassed called in the order of the records
   * @param afterwards awaited before the slot is free again
   */
  begin(key: string, work: () => Promise<boolean>, onPassed: () => void, afterwards: () => Promise<void>): void {
    const item: Item = { isDone: false, onPassed, running: Promise.resolve() };
    const previous = this.#tails.get(key)?.running;
    this.#items.push(item);
    this.#running.add(item);
    this.#tails.set(key, item);
    item.running = this.#run(item, key, previous, work, afterwards);
  }

  async #run(
    item: Item,
    key: string,
    previous: Promise<void> | undefined,
    work: () => Promise<boolean>,
    afterwards: () => Promise<void>,
  ): Promise<void> {
    try {
      await previous;
      if (this.#failure === null) {
        item.isDone = await work();
        while (this.#items[0]?.isDone === true) this.#items.shift()?.onPassed();
        if (item.isDone) await afterwards();
      }
    } catch (error) {
      this.#failure ??= { error };
    }
    this.#running.delete(item);
    if (this.#tails.get(key) === item) this.#tails.delete(key);
  }

  /** Waits for all started work; never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#promises());
  }

  /** Waits for all started work. @throws the error of failed work */
  async finish(): Promise<void> {
    await this.settled();
    if (this.#failure !== null) throw this.#failure.error;
  }

  #promises(): Promise<void>[] {
    return [...this.#running].map(({ running }) => running);
  }
}
