/**
 * In which order a lane asks the entries that are due: what is newly due first, then what had to wait, each in turn. A walk may
 * end before it has asked all, and what waits for the service must not keep a look-up or an expiry behind it waiting.
 */
export class DueTurns {
  readonly #due: ReadonlySet<string>;
  /** Had to wait when it was asked last; the one that was asked longest ago comes first. */
  readonly #waited = new Set<string>();

  constructor(due: ReadonlySet<string>) {
    this.#due = due;
  }

  /** Those that have to wait again meanwhile are not asked twice. */
  *inTurn(): Generator<string> {
    for (const key of this.#waited) if (!this.#due.has(key)) this.#waited.delete(key);
    let left = this.#waited.size;
    for (const key of this.#due) if (!this.#waited.has(key)) yield key;
    for (const key of this.#waited) {
      if (left === 0) return;
      left -= 1;
      yield key;
    }
  }

  waits(key: string): void {
    this.#waited.delete(key);
    this.#waited.add(key);
  }
}
