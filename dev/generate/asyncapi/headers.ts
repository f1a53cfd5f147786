/** Headers of each kind of message as JSON Schema. Kafka's headers are bytes; all of these are UTF-8 text. */
import { DECISION_HEADER } from '../../../src/producers/result-events.ts';
import {
  eventHeaders,
  FINGERPRINT_HEADER,
  JSON_CONTENT_TYPE,
  REPLY_HEADER,
} from 'payment-processor-contract/cloud-events';
import { RECORD_NAMESPACE } from 'payment-processor-contract/schemas';
import { UNREADABLE_HEADER } from 'payment-processor-contract/topics';

export interface HeaderSchema {
  type: 'object';
  properties: Record<string, object>;
  required?: string[];
  /** False: no others are written. */
  additionalProperties: false | { type: 'string' };
}

const text = (description: string): object => ({ type: 'string', description });
const INSTANT = { type: 'string', format: 'date-time' };
const DIGITS = { type: 'string', pattern: '^[0-9]+$' };

/** Copied from a command to what follows from it. */
const CARRIED = {
  'correlation-id': text('Carried from the command to its results and events.'),
  traceparent: text('W3C trace context.'),
  tracestate: text('W3C trace context.'),
};

const MOVED = {
  'moved-partition': { ...DIGITS, description: 'Of a command that was moved to its lane: its first partition.' },
  'moved-offset': DIGITS,
  'moved-timestamp': { ...DIGITS, description: 'Milliseconds since 1970.' },
};

/** Headers of a command: all are optional, and others are allowed. */
export function commandHeaders(recordName: string, format: 'avro' | 'json'): HeaderSchema {
  return {
    type: 'object',
    properties: {
      'content-type': {
        ...(format === 'json' ? { const: JSON_CONTENT_TYPE } : { type: 'string', not: { const: JSON_CONTENT_TYPE } }),
        description:
          format === 'json' ? 'Says that the value is JSON.' : 'Anything else than JSON, or none, is read as Avro.',
      },
      ce_id: text('Names this message; results name it in `in-reply-to`.'),
      'expires-at': { ...INSTANT, description: 'After this instant no call may start.' },
      ...CARRIED,
      ce_specversion: { const: '1.0' },
      ce_type: { const: `${RECORD_NAMESPACE}.${recordName}` },
      ce_source: text('Who publishes, a URI reference.'),
      ce_time: INSTANT,
      ce_subject: text('The key.'),
      ...MOVED,
    },
    ...(format === 'json' ? { required: ['content-type'] } : {}),
    additionalProperties: { type: 'string' },
  };
}

/** The headers that we read from an operator's decision. */
export function decisionHeaders(format: 'avro' | 'json'): HeaderSchema {
  const { 'content-type': contentType } = commandHeaders('OperatorDecision', format).properties;
  return {
    type: 'object',
    properties: {
      'content-type': contentType ?? {},
      ce_id: text(`Names this decision; its result names it in \`${DECISION_HEADER}\`.`),
      ...MOVED,
    },
    ...(format === 'json' ? { required: ['content-type'] } : {}),
    additionalProperties: { type: 'string' },
  };
}

/** Headers of what the processor publishes: from the function that writes them, plus those that vary. */
export function publishedHeaders(recordName: string): HeaderSchema {
  const [one, other] = ['a', 'b'].map((name, timeMs) => eventHeaders({ id: name, recordName, subject: name, timeMs }));
  const written = Object.entries(one ?? {}).map(([name, value]): [string, object] => [
    name,
    other?.[name] === value ? { const: value } : name === 'ce_time' ? INSTANT : { type: 'string' },
  ]);
  const ofResults = {
    [REPLY_HEADER]: text('`ce_id` of the message that is answered, if it had one.'),
    [FINGERPRINT_HEADER]: text("Of the command's type and fields; absent where the message could not be read."),
    [DECISION_HEADER]: text('`ce_id` of the decision of an operator that the revision comes of, if it had one.'),
    replayed: {
      const: 'true',
      description: 'On the answer to a copy of the command: same value, `ce_id` and `ce_time`.',
    },
  };
  return {
    type: 'object',
    properties: { ...Object.fromEntries(written), ...CARRIED, ...(recordName === 'CommandResult' ? ofResults : {}) },
    required: written.map(([name]) => name),
    additionalProperties: false,
  };
}

/** Headers of a copy in JSON: those of the original, except for the content type. */
export function jsonCopyHeaders(recordName: string): HeaderSchema {
  const original = publishedHeaders(recordName);
  const own = {
    'content-type': { const: JSON_CONTENT_TYPE },
    [UNREADABLE_HEADER]: text(
      'Why the original could not be read; the value is then its bytes, with its content type.',
    ),
  };
  return { ...original, properties: { ...original.properties, ...own } };
}

/** Headers of a dead letter, in addition to those of the original message. */
export function deadLetterHeaders(reasons: readonly string[]): HeaderSchema {
  return {
    type: 'object',
    properties: {
      'dlq-reason': { type: 'string', enum: [...reasons] },
      'dlq-message': text('What was wrong, in words.'),
      'dlq-topic': text("The message's first place."),
      'dlq-partition': DIGITS,
      'dlq-offset': DIGITS,
      'dlq-timestamp': INSTANT,
      'dlq-last-offset': { ...DIGITS, description: 'Of a whole batch: the offset of its last record.' },
      'dlq-by-reference': { const: 'true', description: 'The value is the first KiB of the original.' },
      'dlq-value-bytes': DIGITS,
      'dlq-value-sha256': { type: 'string', pattern: '^[0-9a-f]{64}$' },
      'dlq-key-bytes': DIGITS,
      'dlq-key-sha256': { type: 'string', pattern: '^[0-9a-f]{64}$' },
      'dlq-headers-left-out': DIGITS,
    },
    required: ['dlq-reason', 'dlq-message'],
    additionalProperties: { type: 'string' },
  };
}
