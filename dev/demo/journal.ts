/**
 * All that arrives during the demo, in the order of arrival: what the table shows is what the checks judge.
 *
 * Stages: open -> (end) no wait goes on. Waits look at what has arrived already, too; each has a limit, and all of them
 * end at once when the journal ends (the processor died, Ctrl-C, the demo's own time is over).
 */
import type { PaymentEvent } from '../../src/client/index.ts';
import type { TopicRecord } from '../../src/consumers/outside/topic-reader.ts';

export type Arrival = PaymentEvent | { kind: 'dead-letter'; record: TopicRecord };

export type Waited<Value> = { kind: 'seen'; value: Value } | { kind: 'missing'; reason: string };

interface Wait {
  look: (arrival: Arrival) => void;
  giveUp: (reason: string) => void;
}

export class Journal {
  readonly #arrivals: Arrival[] = [];
  readonly #waits = new Set<Wait>();
  readonly #onArrival: (arrival: Arrival) => void;
  #endedBecause: string | null = null;

  /** @param onArrival called for each arrival, before the waits look at it */
  constructor(onArrival: (arrival: Arrival) => void) {
    this.#onArrival = onArrival;
  }

  get arrivals(): readonly Arrival[] {
    return this.#arrivals;
  }

  add(arrival: Arrival): void {
    this.#arrivals.push(arrival);
    this.#onArrival(arrival);
    for (const wait of this.#waits) wait.look(arrival);
  }

  /**
   * @param pick what is waited for, or null for an arrival that is something else
   * @returns the first that is picked, of those that have arrived and those to come; or why there is none
   */
  waitFor<Value>(pick: (arrival: Arrival) => Value | null, timeoutMs: number): Promise<Waited<Value>> {
    for (const arrival of this.#arrivals) {
      const value = pick(arrival);
      if (value !== null) return Promise.resolve({ kind: 'seen', value });
    }
    if (this.#endedBecause !== null) return Promise.resolve({ kind: 'missing', reason: this.#endedBecause });
    const { promise, resolve } = Promise.withResolvers<Waited<Value>>();
    const wait: Wait = {
      look: (arrival) => {
        const value = pick(arrival);
        if (value !== null) resolve({ kind: 'seen', value });
      },
      giveUp: (reason) => resolve({ kind: 'missing', reason }),
    };
    this.#waits.add(wait);
    const timer = setTimeout(() => wait.giveUp(`none came within ${timeoutMs / 1000} s`), timeoutMs);
    return promise.finally(() => {
      clearTimeout(timer);
      this.#waits.delete(wait);
    });
  }

  /** No further wait goes on; the first reason stays. */
  end(reason: string): void {
    this.#endedBecause ??= reason;
    for (const wait of this.#waits) wait.giveUp(reason);
  }
}
