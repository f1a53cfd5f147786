/** Status changes of a lane: folds observations into the states of their transactions (invariant I4). */
import type { Unavailable } from '../../consumers/inbox.ts';
import type { InputMessage } from '../../consumers/input-message.ts';
import { originalMessage, type Place } from '../../consumers/message-origin.ts';
import { UnknownSchemaError } from '../../ledger/ledger-value.ts';
import type { DeadLetter } from '../../producers/dead-letters.ts';
import { statusRecords } from '../../producers/status-events.ts';
import { decodeObservation, type Observation } from '../../status/observation.ts';
import { ID_LENGTH_MAX } from 'payment-processor-contract/quote-id';
import { reduce } from '../../status/reducer.ts';
import type { HandlerParts } from '../outcomes.ts';
import type { LaneParts } from '../parts.ts';
import type { InputHandler } from './taking.ts';

export type ObservationItem =
  | {
      readonly kind: 'observation';
      readonly id: string;
      readonly observation: Observation;
      /** By the brokers' clock if the writer knew it; else by the writer's. */
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

export function observationHandler(parts: HandlerParts): InputHandler<ObservationItem, never> {
  const { lane, laneCount, memory, outcomes, reports, writer } = parts;
  return {
    name: 'observation',
    setAside: (...message) => outcomes.setAside(...message),
    handle: (transaction, item) => {
      if (item.kind === 'dead-letter') {
        outcomes.deadLetter(transaction, item.letter);
        return null;
      }
      const { id, observation, writtenMs } = item;
      const reduction = reduce(memory.transaction(id), id, observation, writtenMs);
      const records = statusRecords(writer, laneCount, reduction);
      transaction.putTransaction(reduction.state);
      memory.putTransaction(reduction.state, transaction.commit);
      transaction.add(...records);
      const { quoteEvents, transactionEvent } = reduction;
      if (transactionEvent !== null) transaction.reports.push(() => reports.statusChanged(lane, 'transaction'));
      for (let count = 0; count < quoteEvents.length; count += 1)
        transaction.reports.push(() => reports.statusChanged(lane, 'quote'));
      return null;
    },
  };
}
