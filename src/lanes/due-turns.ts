/**
 * The order in which a lane handles due entries: newly due ones first, then those that had to wait, in turn. A walk may end early,
 * and entries that wait for the service must not delay a look-up or an expiry behind them.
 */
export class DueTurns {
  readonly #due: ReadonlySet<string>;
  /** Entries that had to wait when last tried; the one tried longest ago comes first. */
  readonly #waited = new Set<string>();
  /** How many of them this round has yet to try: a walk that ends early leaves them to the next one. */
  #left = 0;

  constructor(due: ReadonlySet<string>) {
    this.#due = due;
  }

  /** Ends with the round: it yields each entry once, even one that had to wait again. */
  *inTurn(): Generator<string> {
    for (const key of this.#waited) if (!this.#due.has(key)) this.#waited.delete(key);
    if (this.#left === 0) this.#left = this.#waited.size;
    const fresh = [...this.#due].filter((key) => !this.#waited.has(key));
    yield* fresh;
    for (const key of this.#waited) {
      if (this.#left === 0) break;
      yield key;
      this.#left -= 1;
    }
    this.#left = 0;
    // They were tried first, but the others have waited for longer.
    for (const key of fresh) if (this.#waited.has(key)) this.mustWait(key);
  }

  /** Puts the entry behind the others that wait. */
  mustWait(key: string): void {
    this.#waited.delete(key);
    this.#waited.add(key);
  }
}
