/**
 * Decides when a lane that finds nothing to commit may rest: once it has tried every input and every due entry. If one filling has
 * no time for all, several share the work: inputs take turns, and due entries continue where the last filling ended.
 */
import type { LaneTransaction } from './transaction.ts';

export class Resting {
  readonly #inputs: number;
  /** Fillings in a row that led to nothing. */
  #fillings = 0;
  /** Whether all due entries were tried in these fillings. */
  #wereDueAsked = false;

  /** @param inputs how many take turns */
  constructor(inputs: number) {
    this.#inputs = inputs;
  }

  /** Something happened or was committed: the lane must try everything again. */
  begin(): void {
    this.#fillings = 0;
    this.#wereDueAsked = false;
  }

  /** The last of the due entries was tried. */
  dueAsked(): void {
    this.#wereDueAsked = true;
  }

  /** @returns whether the lane rests after this filling, which made no record */
  isOver(filled: Pick<LaneTransaction, 'isCutShort' | 'isUntouched'>): boolean {
    this.#fillings = filled.isUntouched() ? this.#fillings + 1 : 0;
    const wereAllAsked = this.#wereDueAsked && this.#fillings >= this.#inputs;
    const isOver = !filled.isCutShort() || (filled.isUntouched() && wereAllAsked);
    if (isOver) this.begin();
    return isOver;
  }
}
