/**
 * When a lane rests that finds nothing to commit: once each of what waits was asked, in one filling or, where one has no time
 * for all, in several. In each of these the inputs take turns, and due entries go on where the last one ended.
 */
import type { LaneTransaction } from './transaction.ts';

export class Resting {
  readonly #inputs: number;
  /** Fillings in a row that led to nothing. */
  #fillings = 0;
  /** In these. */
  #wereDueAsked = false;

  /** @param inputs that take turns */
  constructor(inputs: number) {
    this.#inputs = inputs;
  }

  /** Something happened, or is committed: all is to be asked anew. */
  begin(): void {
    this.#fillings = 0;
    this.#wereDueAsked = false;
  }

  /** The last of the due entries was asked. */
  dueAsked(): void {
    this.#wereDueAsked = true;
  }

  /** @returns whether the lane rests after this filling, which leads to no record */
  isOver(filled: Pick<LaneTransaction, 'isCutShort' | 'isUntouched'>): boolean {
    this.#fillings = filled.isUntouched() ? this.#fillings + 1 : 0;
    const wereAllAsked = this.#wereDueAsked && this.#fillings >= this.#inputs;
    const isOver = !filled.isCutShort() || (filled.isUntouched() && wereAllAsked);
    if (isOver) this.begin();
    return isOver;
  }
}
