/** Status changes of a lane: observations are reduced over the state of their transaction (invariant I4). */
import type { ReadResult } from '../consumers/inbox.ts';
import type { InputMessage } from '../consumers/input-message.ts';
import { originalMessage, type Place } from '../consumers/message-origin.ts';
import { UnknownSchemaError } from '../ledger/ledger-value.ts';
import type { DeadLetter } from '../producers/dead-letters.ts';
import { statusRecords } from '../producers/status-events.ts';
import { decodeObservation, ID_LENGTH_MAX, type Observation } from '../status/observation.ts';
import { reduce } from '../status/reducer.ts';
import type { DeskParts } from './outcomes.ts';
import type { LaneParts } from './parts.ts';
import type { InputHandler } from './taking.ts';
import type { LaneTransaction } from './transaction.ts';

export type ObservationItem =
  | { readonly kind: 'observation'; readonly id: string; readonly observation: Observation }
  /** Nobody but the processor writes to the topic: what is none of ours is somebody's error, and kept. */
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

/** Whoever observed has written the schema into its lane's ledger before: by then every member has read so far. */
const SCHEMA_MISSING_MS_MAX = 60_000;

/** Reads the observations of a lane, one after the other. */
export class ObservationReader {
  readonly #parts: Pick<LaneParts, 'clock' | 'laneCount'>;
  /** Of the message that is read again and again, on the monotonic clock. */
  #schemaMissingSinceMs: number | null = null;

  constructor(parts: Pick<LaneParts, 'clock' | 'laneCount'>) {
    this.#parts = parts;
  }

  read(place: Place, message: InputMessage): ReadResult<ObservationItem> {
    const { clock, laneCount } = this.#parts;
    let observation: Observation | null = null;
    try {
      observation = message.cut === null ? decodeObservation(message.value) : null;
    } catch (error) {
      if (!(error instanceof UnknownSchemaError)) throw error;
      const nowMs = clock.monotonicMs();
      this.#schemaMissingSinceMs ??= nowMs;
      if (nowMs - this.#schemaMissingSinceMs < SCHEMA_MISSING_MS_MAX)
        return { kind: 'unavailable', problem: error.message };
    }
    this.#schemaMissingSinceMs = null;
    return { kind: 'item', item: itemOf(place, laneCount, message, observation) };
  }
}

function itemOf(
  place: Place,
  laneCount: number,
  message: InputMessage,
  observation: Observation | null,
): ObservationItem {
  const { key } = message;
  if (observation !== null && key !== null && key.length > 0 && key.length <= ID_LENGTH_MAX)
    return { kind: 'observation', id: key.toString(), observation };
  const reason = message.unreadableBatch === null ? 'UNREADABLE' : 'UNREADABLE_BATCH';
  const problem =
    message.unreadableBatch?.problem ?? 'not an observation of the processor, and nobody else writes here';
  return { kind: 'dead-letter', letter: { ...originalMessage(place, laneCount, message), reason, message: problem } };
}

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
