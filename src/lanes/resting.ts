/**
 * Decides when a lane that finds nothing to commit may rest: once it has tried every input and every due entry. A fill puts
 * what is ready into a transaction. If one fill has no time for all, several share the work: inputs take turns, and due entries continue where the last fill ended.
 */
import type { LaneTransaction } from './commits/transaction.ts';

export class Resting {
  readonly #inputs: number;
  /** Fills in a row that handled nothing. */
  #emptyFills = 0;
  /** Whether these fills tried all due entries. */
  #wereDueTried = false;

  /** @param inputs number of inputs that take turns */
  constructor(inputs: number) {
    this.#inputs = inputs;
  }

  /** Something happened or was committed: the lane must try everything again. */
  reset(): void {
    this.#emptyFills = 0;
    this.#wereDueTried = false;
  }

  /** The lane has tried the last of the due entries. */
  triedAllDue(): void {
    this.#wereDueTried = true;
  }

  /** @returns whether the lane may rest after this fill, which made no record */
  mayRest(filled: Pick<LaneTransaction, 'isCutShort' | 'isUntouched'>): boolean {
    this.#emptyFills = filled.isUntouched() ? this.#emptyFills + 1 : 0;
    const wereAllTried = this.#wereDueTried && this.#emptyFills >= this.#inputs;
    const mayRest = !filled.isCutShort() || (filled.isUntouched() && wereAllTried);
    if (mayRest) this.reset();
    return mayRest;
  }
}
