/** Makes records of status changes, for the two event topics, and of observations. */
import { eventHeaders, eventId, eventIdNames } from 'payment-processor-contract/cloud-events';
import { laneOf } from 'payment-processor-contract/keys';
import type { Effect } from '../ledger/effect.ts';
import { encodeObservation, observationKey, type Observation } from '../status/observation.ts';
import type { Reduction } from '../status/reducer.ts';
import type { OutgoingRecord } from './record-batch.ts';
import type { ResultWriter } from './result-events.ts';

/**
 * @param effect of the command that made the observation
 * @returns null if the transaction's id is unknown or too long
 */
export function observationRecord(
  topic: string,
  lanes: number,
  observation: Observation,
  effect: Effect | null = null,
): OutgoingRecord | null {
  const key = observationKey(observation, effect);
  if (key === null) return null;
  return { topic, partition: laneOf(key, lanes), key, value: encodeObservation(observation), headers: {} };
}

/** The records of one reduction: none, or the changes it found. */
export function statusRecords(writer: ResultWriter, lanes: number, reduction: Reduction): OutgoingRecord[] {
  const records: OutgoingRecord[] = [];
  const { transactionEvent, quoteEvents, state } = reduction;
  if (transactionEvent !== null) {
    const { transactionId: id } = transactionEvent;
    const name = eventIdNames.transactionStatus(writer.topicPrefix, id, state.changes);
    records.push(
      record(writer.topics.transactionStatusChanged, 'TransactionStatusChanged', id, name, transactionEvent),
    );
  }
  for (const [index, event] of quoteEvents.entries()) {
    const change = state.quoteChanges - quoteEvents.length + index + 1;
    const name = eventIdNames.quoteStatus(writer.topicPrefix, event.quoteId, change);
    records.push(record(writer.topics.quoteStatusChanged, 'QuoteStatusChanged', event.quoteId, name, event));
  }
  return records;

  function record(
    topic: string,
    recordName: string,
    key: string,
    idName: string,
    event: { observedAt: bigint },
  ): OutgoingRecord {
    const headers = eventHeaders({ id: eventId(idName), recordName, subject: key, timeMs: Number(event.observedAt) });
    return {
      topic,
      partition: laneOf(key, lanes),
      key,
      value: writer.registry.encode(topic, event),
      headers: { ...headers, ...state.carried },
    };
  }
}
