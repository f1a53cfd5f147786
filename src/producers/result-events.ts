/** Results as records of the results topic: a command's result, its replay for a copy, a conflict. */
import type { Carried, Copy, Entry, Origin, StoredEvent } from '../ledger/entry.ts';
import {
  eventHeaders,
  eventId,
  eventIdNames,
  FINGERPRINT_HEADER,
  REPLY_HEADER,
} from 'payment-processor-contract/cloud-events';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import type { TopicNames } from 'payment-processor-contract/topics';
import type { CommandResult } from 'payment-processor-contract/types';
import type { OutgoingRecord } from './record-batch.ts';

export interface ResultWriter {
  readonly registry: Pick<RecordRegistry, 'encode'>;
  readonly topics: TopicNames;
  readonly topicPrefix: string;
}

/** The `ce_id` of the decision that made a revision. */
export const DECISION_HEADER = 'decision-id';

/** The one result of an entry's revision. */
export function resultEvent(
  writer: ResultWriter,
  result: CommandResult,
  { carried, decisionId }: Pick<Entry, 'carried' | 'decisionId'>,
): StoredEvent {
  const idName = eventIdNames.result(writer.topicPrefix, result.commandKey, result.revision);
  const decided = decisionId === null ? {} : { [DECISION_HEADER]: decisionId };
  return encoded(writer, idName, result, { ...carried, ...decided });
}

/** @param place of the answered message: the event's id is made from it, because headers could claim another's id */
export function conflictEvent(
  writer: ResultWriter,
  place: Origin,
  result: CommandResult,
  carried: Carried,
): StoredEvent {
  return encoded(writer, eventIdNames.conflict(place.topic, place.partition, place.offset), result, carried);
}

function encoded(
  writer: ResultWriter,
  idName: string,
  result: CommandResult,
  more: Carried & { readonly [DECISION_HEADER]?: string },
): StoredEvent {
  const headers = {
    ...eventHeaders({
      id: eventId(idName),
      recordName: 'CommandResult',
      subject: result.commandKey,
      timeMs: Number(result.completedAt),
    }),
    ...more,
    ...replyTo(result.commandId),
  };
  return { value: writer.registry.encode(writer.topics.results, result), headers };
}

/** @param fingerprint of the command's fields; null if they were unreadable */
export function resultRecord(
  writer: ResultWriter,
  lane: number,
  { key, fingerprint }: { readonly key: string; readonly fingerprint: string | null },
  event: StoredEvent,
): OutgoingRecord {
  const fingerprintHeader = fingerprint === null ? {} : { [FINGERPRINT_HEADER]: fingerprint };
  return {
    topic: writer.topics.results,
    partition: lane,
    key,
    value: event.value,
    headers: { ...event.headers, ...fingerprintHeader },
  };
}

/**
 * The same event again, for a copy of the command: same id, marked as replayed, in reply to the copy.
 * @returns null if the entry is not finished
 */
export function replayRecord(writer: ResultWriter, lane: number, entry: Entry, copy: Copy): OutgoingRecord | null {
  if (entry.phase.state !== 'DONE') return null;
  const { headers, value } = entry.phase.result;
  const replay = { value, headers: { ...withoutReply(headers), replayed: 'true', ...replyTo(copy.commandId) } };
  // Only a readable command can have a copy, so the fingerprint is that of its fields.
  return resultRecord(writer, lane, entry, replay);
}

/** Names the message that is answered, if it has an id. */
function replyTo(commandId: string | null): Record<string, string> {
  return commandId === null ? {} : { [REPLY_HEADER]: commandId };
}

function withoutReply(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== REPLY_HEADER));
}
