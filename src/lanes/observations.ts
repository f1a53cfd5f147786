/** Status changes of a lane: observations are reduced over the state of their transaction (invariant I4). */
import type { DeadLetter } from '../producers/dead-letters.ts';
import { statusRecords } from '../producers/status-events.ts';
import type { Observation } from '../status/observation.ts';
import { reduce } from '../status/reducer.ts';
import type { DeskParts } from './outcomes.ts';
import type { InputHandler } from './taking.ts';
import type { LaneTransaction } from './transaction.ts';

export type ObservationItem =
  | { readonly kind: 'observation'; readonly id: string; readonly observation: Observation }
  /** Nobody but the processor writes to the topic: what is none of ours is somebody's error, and kept. */
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

export class Observations implements InputHandler<ObservationItem, never> {
  readonly name = 'observation';
  readonly #parts: DeskParts;
  readonly setAside: InputHandler<ObservationItem, never>['setAside'] = (...message) =>
    this.#parts.outcomes.setAside(...message);

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  async handle(transaction: LaneTransaction, item: ObservationItem): Promise<null> {
    if (item.kind === 'observation') await this.#reduce(transaction, item.id, item.observation);
    else this.#parts.outcomes.bury(transaction, item.letter);
    return null;
  }

  async #reduce(transaction: LaneTransaction, id: string, observation: Observation): Promise<void> {
    const { lane, laneCount, memory, reports, writer } = this.#parts;
    const reduction = reduce(memory.transaction(id), id, observation);
    const records = await statusRecords(writer, laneCount, reduction);
    transaction.putTransaction(reduction.state);
    memory.putTransaction(reduction.state, transaction.commit);
    transaction.add(...records);
    if (reduction.transactionEvent !== null) transaction.reports.push(() => reports.statusChanged(lane, 'transaction'));
    for (let count = 0; count < reduction.quoteEvents.length; count += 1)
      transaction.reports.push(() => reports.statusChanged(lane, 'quote'));
  }
}
