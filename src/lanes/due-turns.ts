/**
 * In which order a lane asks the entries that are due: what is newly due first, then what had to wait, each in turn. A walk may
 * end before it has asked all, and what waits for the service must not keep a look-up or an expiry behind it waiting.
 */
export class DueTurns {
  readonly #due: ReadonlySet<string>;
  /** Had to wait when it was asked last; the one that was asked longest ago comes first. */
  readonly #waited = new Set<string>();
  /** Of them, how many this round has yet to ask: a walk that ended early leaves the others to the next. */
  #left = 0;

  constructor(due: ReadonlySet<string>) {
    this.#due = due;
  }

  /** Ends with its round: then each was asked, and none that had to wait again was asked twice. */
  *inTurn(): Generator<string> {
    for (const key of this.#waited) if (!this.#due.has(key)) this.#waited.delete(key);
    if (this.#left === 0) this.#left = this.#waited.size;
    for (const key of this.#due) if (!this.#waited.has(key)) yield key;
    for (const key of this.#waited) {
      if (this.#left === 0) return;
      yield key;
      this.#left -= 1;
    }
    this.#left = 0;
  }

  waits(key: string): void {
    this.#waited.delete(key);
    this.#waited.add(key);
  }
}
