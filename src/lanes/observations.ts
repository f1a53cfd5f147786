/** Status changes of a lane: observations are reduced over the state of their transaction (invariant I4). */
import type { LaneInbox } from '../consumers/inbox.ts';
import { errorText, type MessageFailures } from '../consumers/message-failures.ts';
import { letterAside, type Place } from '../consumers/message-origin.ts';
import type { DeadLetter } from '../producers/dead-letters.ts';
import type { ResultWriter } from '../producers/result-events.ts';
import { statusRecords } from '../producers/status-events.ts';
import type { Observation } from '../status/observation.ts';
import { reduce } from '../status/reducer.ts';
import { takeFrom } from './inbox-taking.ts';
import type { LaneMemory } from './memory.ts';
import type { DeskReports, LaneOutcomes } from './outcomes.ts';
import type { LaneTransaction } from './transaction.ts';

export type ObservationItem =
  | { readonly kind: 'observation'; readonly id: string; readonly observation: Observation }
  /** Nobody but the processor writes to the topic: what is none of ours is somebody's error, and kept. */
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

export interface StatusParts {
  readonly lane: number;
  readonly laneCount: number;
  readonly failures: MessageFailures;
  readonly memory: LaneMemory;
  readonly outcomes: LaneOutcomes;
  readonly writer: ResultWriter;
  readonly reports: DeskReports;
}

export class LaneStatusChanges {
  readonly #parts: StatusParts;

  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  async reduceFrom(
    transaction: LaneTransaction,
    commit: number,
    place: Place,
    inbox: LaneInbox<ObservationItem>,
  ): Promise<void> {
    const { failures, outcomes, reports } = this.#parts;
    await takeFrom(transaction, {
      topic: place.topic,
      inbox,
      failures,
      handle: async (item) => {
        if (item.kind === 'observation') await this.#reduce(transaction, commit, item.id, item.observation);
        else outcomes.bury(transaction, item.letter);
        return null;
      },
      setAside: async (message, error) => {
        const aside = { problem: errorText(error), isByReference: false };
        outcomes.bury(transaction, letterAside(place, message, aside));
      },
      onFailure: (error) => reports.failed(place.lane, 'observation', error),
    });
  }

  async #reduce(transaction: LaneTransaction, commit: number, id: string, observation: Observation): Promise<void> {
    const { lane, laneCount, memory, reports, writer } = this.#parts;
    const reduction = reduce(memory.transaction(id), id, observation);
    const records = await statusRecords(writer, laneCount, reduction, observation.carried);
    transaction.putTransaction(reduction.state);
    memory.putTransaction(reduction.state, commit);
    transaction.add(...records);
    if (reduction.transactionEvent !== null) transaction.reports.push(() => reports.statusChanged(lane, 'transaction'));
    for (let count = 0; count < reduction.quoteEvents.length; count += 1)
      transaction.reports.push(() => reports.statusChanged(lane, 'quote'));
  }
}
