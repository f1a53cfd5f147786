/** Status changes of a lane: folds observations into the states of their transactions (invariant I4). */
import type { Unavailable } from '../consumers/inbox.ts';
import type { InputMessage } from '../consumers/input-message.ts';
import { originalMessage, type Place } from '../consumers/message-origin.ts';
import { UnknownSchemaError } from '../ledger/ledger-value.ts';
import type { DeadLetter } from '../producers/dead-letters.ts';
import { statusRecords } from '../producers/status-events.ts';
import { decodeObservation, ID_LENGTH_MAX, type Observation } from '../status/observation.ts';
import { reduce } from '../status/reducer.ts';
import type { HandlerParts, Outcomes } from './outcomes.ts';
import type { LaneParts } from './parts.ts';
import type { InputHandler } from './taking.ts';
import type { LaneTransaction } from './transaction.ts';

export type ObservationItem =
  | {
      readonly kind: 'observation';
      readonly id: string;
      readonly observation: Observation;
      /** By the brokers' clock. */
      readonly writtenMs: number;
    }
  /** Only the processor may write to the topic. Any other record is an error, and becomes a dead letter. */
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

/**
 * An observer first writes its schema into its lane's ledger, and every member reads all lanes. So the schema is here within a
 * second, unless this member is restoring its store. All observations that come within SCHEMA_AGAIN_MS share this wait.
 */
const SCHEMA_WAIT_MS = 5_000;
const SCHEMA_AGAIN_MS = 60_000;

/** Reads the observations of a lane, one after the other. */
export class ObservationReader {
  readonly #parts: Pick<LaneParts, 'clock' | 'laneCount'>;
  /** When the last wait for schemas began, on the monotonic clock. */
  #waitingSinceMs = -Infinity;

  constructor(parts: Pick<LaneParts, 'clock' | 'laneCount'>) {
    this.#parts = parts;
  }

  read(place: Place, message: InputMessage): ObservationItem | Unavailable {
    const { key } = message;
    let problem = 'the processor did not write this, and nothing else may write to this topic';
    try {
      const observation = message.cut === null ? decodeObservation(message.value) : null;
      const id = key?.toString() ?? '';
      if (observation !== null && id !== '' && id.length <= ID_LENGTH_MAX)
        return { kind: 'observation', id, observation, writtenMs: message.timestampMs };
    } catch (error) {
      if (!(error instanceof UnknownSchemaError)) throw error;
      problem = error.message;
      if (this.#mayWait()) return { kind: 'unavailable', problem };
    }
    const { unreadableBatch } = message;
    const reason = unreadableBatch === null ? 'UNREADABLE' : 'UNREADABLE_BATCH';
    const original = originalMessage(place, this.#parts.laneCount, message);
    const letter = { ...original, reason, message: unreadableBatch?.problem ?? problem } as const;
    return { kind: 'dead-letter', letter };
  }

  #mayWait(): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    if (nowMs - this.#waitingSinceMs >= SCHEMA_AGAIN_MS) this.#waitingSinceMs = nowMs;
    return nowMs - this.#waitingSinceMs < SCHEMA_WAIT_MS;
  }
}

export class Observations implements InputHandler<ObservationItem, never> {
  readonly name = 'observation';
  readonly #parts: HandlerParts;

  constructor(parts: HandlerParts) {
    this.#parts = parts;
  }

  setAside(...message: Parameters<Outcomes['setAside']>): void {
    this.#parts.outcomes.setAside(...message);
  }

  handle(transaction: LaneTransaction, item: ObservationItem): null {
    if (item.kind === 'observation') this.#reduce(transaction, item);
    else this.#parts.outcomes.deadLetter(transaction, item.letter);
    return null;
  }

  #reduce(
    transaction: LaneTransaction,
    { id, observation, writtenMs }: Extract<ObservationItem, { kind: 'observation' }>,
  ): void {
    const { lane, laneCount, memory, reports, writer } = this.#parts;
    const reduction = reduce(memory.transaction(id), id, observation, writtenMs);
    const records = statusRecords(writer, laneCount, reduction);
    transaction.putTransaction(reduction.state);
    memory.putTransaction(reduction.state, transaction.commit);
    transaction.add(...records);
    if (reduction.transactionEvent !== null) transaction.reports.push(() => reports.statusChanged(lane, 'transaction'));
    for (let count = 0; count < reduction.quoteEvents.length; count += 1)
      transaction.reports.push(() => reports.statusChanged(lane, 'quote'));
  }
}
