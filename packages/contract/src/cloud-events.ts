/** CloudEvents in Kafka's binary mode: headers of the messages that we publish, and ids derived from their content. */
import * as crypto from 'node:crypto';
import { RECORD_NAMESPACE } from './schemas.ts';

export const AVRO_CONTENT_TYPE = 'application/avro';
export const JSON_CONTENT_TYPE = 'application/json';
const EVENT_SOURCE = 'payment-processor';

/** On results: `ce_id` of the answered message. */
export const REPLY_HEADER = 'in-reply-to';
/** On results: the fingerprint of the answered command. */
export const FINGERPRINT_HEADER = 'command-fingerprint';

/** Namespace of our ids: the UUIDv5 (RFC 9562) of https://payment-processor/events in the URL namespace. Fixed for good. */
const EVENT_ID_NAMESPACE = 'f670ce4e-e124-5fd4-83d4-a4a8d8360ad5';

const NAMESPACE_BYTES = Buffer.from(EVENT_ID_NAMESPACE.replaceAll('-', ''), 'hex');

/** Name strings of the ids; see docs/events.md. */
export const eventIdNames = {
  result: (topicPrefix: string, key: string, revision: number): string => `result\n${topicPrefix}\n${key}\n${revision}`,
  conflict: (topic: string, partition: number, offset: bigint): string => `conflict\n${topic}\n${partition}\n${offset}`,
  transactionStatus: (topicPrefix: string, transactionId: string, change: number): string =>
    `transaction-status\n${topicPrefix}\n${transactionId}\n${change}`,
  quoteStatus: (topicPrefix: string, quoteId: string, change: number): string =>
    `quote-status\n${topicPrefix}\n${quoteId}\n${change}`,
};

/** UUIDv5 of a name in our namespace. */
export function eventId(name: string): string {
  const digest = crypto.hash('sha1', Buffer.concat([NAMESPACE_BYTES, Buffer.from(name)]), 'buffer');
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Headers of a message; unless it says otherwise, of an event of the processor in Avro. */
export function eventHeaders(event: {
  id: string;
  recordName: string;
  subject: string;
  timeMs: number;
  source?: string;
  contentType?: string;
}): Record<string, string> {
  return {
    ce_specversion: '1.0',
    ce_id: event.id,
    ce_type: `${RECORD_NAMESPACE}.${event.recordName}`,
    ce_source: event.source ?? EVENT_SOURCE,
    ce_time: new Date(event.timeMs).toISOString(),
    ce_subject: event.subject,
    'content-type': event.contentType ?? AVRO_CONTENT_TYPE,
  };
}
