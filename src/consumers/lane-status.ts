/** Status changes of a lane: observations are reduced over the state of their transaction (invariant I4). */
import { statusRecords } from '../producers/status-events.ts';
import type { ResultWriter } from '../producers/result-events.ts';
import { encodeObservation, type Observation } from '../status/observation.ts';
import { reduce } from '../status/reducer.ts';
import { takeFrom } from './inbox-taking.ts';
import type { LaneInbox, Ready } from './lane-inbox.ts';
import type { LaneMemory } from './lane-memory.ts';
import type { DeskReports, LaneOutcomes } from './lane-outcomes.ts';
import type { LaneTransaction } from './lane-transaction.ts';
import { MessageDrops } from './message-drops.ts';

export interface ObservationItem {
  readonly id: string;
  readonly observation: Observation;
  readonly timestampMs: number;
}

export interface StatusParts {
  readonly lane: number;
  readonly laneCount: number;
  readonly memory: LaneMemory;
  readonly outcomes: LaneOutcomes;
  readonly writer: ResultWriter;
  readonly reports: DeskReports;
}

export class LaneStatusChanges {
  readonly #parts: StatusParts;
  readonly #drops = new MessageDrops();

  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  async reduceFrom(
    transaction: LaneTransaction,
    commit: number,
    topic: string,
    inbox: LaneInbox<ObservationItem | null>,
  ): Promise<void> {
    await takeFrom(transaction, topic, inbox, async (ready) => {
      try {
        if (ready.item !== null) await this.#reduce(transaction, commit, ready.item);
        return null;
      } catch (error) {
        return this.#drop(transaction, topic, ready, error) ? null : 'failed';
      }
    });
  }

  async #reduce(transaction: LaneTransaction, commit: number, { id, observation }: ObservationItem): Promise<void> {
    const { lane, laneCount, memory, reports, writer } = this.#parts;
    const reduction = reduce(memory.transaction(id), id, observation);
    const records = await statusRecords(writer, laneCount, reduction, observation.carried);
    memory.putTransaction(reduction.state, commit);
    transaction.putTransaction(reduction.state);
    transaction.add(...records);
    if (reduction.transactionEvent !== null) transaction.reports.push(() => reports.statusChanged(lane, 'transaction'));
    for (let count = 0; count < reduction.quoteEvents.length; count += 1)
      transaction.reports.push(() => reports.statusChanged(lane, 'quote'));
  }

  /** @returns whether the observation is set aside; else it is tried again */
  #drop(transaction: LaneTransaction, topic: string, ready: Ready<ObservationItem | null>, error: unknown): boolean {
    const { lane, outcomes, reports } = this.#parts;
    reports.failed(lane, 'observation', error);
    if (ready.item === null || !this.#drops.count(topic, ready.offset)) return false;
    const { id, observation, timestampMs } = ready.item;
    outcomes.bury(transaction, {
      reason: 'SET_ASIDE',
      message: error instanceof Error ? error.message : String(error),
      topic,
      partition: lane,
      offset: ready.offset,
      timestampMs,
      key: Buffer.from(id),
      value: encodeObservation(observation),
      headers: {},
    });
    return true;
  }
}
