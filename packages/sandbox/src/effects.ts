/**
 * Counts for outside tests: how often each operation was called and how often it took effect, per Idempotency-Key, per
 * executed quote and per rejected transaction. A call is a request for an operation with valid headers, even if the
 * rate limit or a fault rule stops it; an effect is a change of the service's state.
 */
import { OPERATIONS, type Operation } from './operations.ts';

export interface Tally {
  calls: number;
  effects: number;
}

/** A tally with the ids that the calls under one key created or changed. */
export interface KeyTally extends Tally {
  transactionIds: string[];
}

export class Effects {
  readonly #keyed = new Map<Operation, Map<string, KeyTally>>();
  readonly #unkeyed = new Map<Operation, Tally>();
  readonly #quotes = new Map<string, { executeCalls: number; executions: number }>();
  readonly #rejections = new Map<string, { rejectCalls: number; rejections: number }>();

  countCall(operation: Operation, key: string | null): void {
    this.#tally(operation, key).calls += 1;
  }

  countEffect(operation: Operation, key: string | null, transactionId: string): void {
    const tally = this.#tally(operation, key);
    tally.effects += 1;
    if ('transactionIds' in tally) (tally as KeyTally).transactionIds.push(transactionId);
  }

  /** A quote can be executed only once, under any key, so this counts per quote. */
  countExecution(quoteId: string, executed: boolean): void {
    const tally = tallyIn(this.#quotes, quoteId, () => ({ executeCalls: 0, executions: 0 }));
    tally.executeCalls += 1;
    if (executed) tally.executions += 1;
  }

  countRejection(transactionId: string, rejected: boolean): void {
    const tally = tallyIn(this.#rejections, transactionId, () => ({ rejectCalls: 0, rejections: 0 }));
    tally.rejectCalls += 1;
    if (rejected) tally.rejections += 1;
  }

  /** The body of `GET /control/effects`. */
  report() {
    return {
      operations: Object.fromEntries(
        OPERATIONS.map((operation) => [operation, Object.fromEntries(this.#keyed.get(operation) ?? [])]),
      ),
      unkeyed: Object.fromEntries(
        OPERATIONS.map((operation) => [operation, this.#unkeyed.get(operation) ?? { calls: 0, effects: 0 }]),
      ),
      quotes: Object.fromEntries(this.#quotes),
      transactions: Object.fromEntries(this.#rejections),
      totals: this.totals(),
    };
  }

  /** Per operation, keyed or not. */
  totals(): Record<string, Tally> {
    return Object.fromEntries(OPERATIONS.map((operation) => [operation, this.#total(operation)]));
  }

  #tally(operation: Operation, key: string | null): Tally {
    if (key === null) return tallyIn(this.#unkeyed, operation, () => ({ calls: 0, effects: 0 }));
    const keys = tallyIn(this.#keyed, operation, () => new Map<string, KeyTally>());
    return tallyIn(keys, key, () => ({ calls: 0, effects: 0, transactionIds: [] }));
  }

  #total(operation: Operation): Tally {
    const total = { ...(this.#unkeyed.get(operation) ?? { calls: 0, effects: 0 }) };
    for (const tally of this.#keyed.get(operation)?.values() ?? []) {
      total.calls += tally.calls;
      total.effects += tally.effects;
    }
    return total;
  }
}

/** The entry of that key; made when it is first asked for. */
function tallyIn<Key, Entry>(entries: Map<Key, Entry>, key: Key, make: () => Entry): Entry {
  const entry = entries.get(key) ?? make();
  entries.set(key, entry);
  return entry;
}
