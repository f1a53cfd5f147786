/** The public topics as channels, each with its messages: from the tables of topics, commands and records. */
import { z } from 'zod';
import { holdOrder } from '../../../src/ledger/holds.ts';
import { DEAD_LETTER_REASONS } from '../../../src/producers/dead-letters.ts';
import { HANDLED } from '../../../src/producers/dead-letter-notes.ts';
import { AVRO_CONTENT_TYPE, JSON_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { COMMAND_RECORDS, COMMAND_TYPES } from 'payment-processor-contract/commands';
import { loadSchema } from 'payment-processor-contract/schemas';
import { jsonCopyOf, topicNames } from 'payment-processor-contract/topics';
import {
  commandExample,
  DEAD_LETTER_EXAMPLE,
  decisionExample,
  HOLD_EXAMPLE,
  QUOTE_STATUS_EXAMPLE,
  RESULT_EXAMPLES,
  TRANSACTION_STATUS_EXAMPLE,
  type MessageExample,
} from './examples.ts';
import {
  commandHeaders,
  deadLetterHeaders,
  decisionHeaders,
  jsonCopyHeaders,
  publishedHeaders,
  type HeaderSchema,
} from './headers.ts';

export const PREFIX_PARAMETER = '{topicPrefix}';
const AVRO_FORMAT = 'application/vnd.apache.avro;version=1.9.0';
const COMMAND_KEY = {
  type: 'string',
  pattern: '^[!-~]{1,200}$',
  not: { pattern: '\\.execute$' },
  description: 'The idempotency key, as raw bytes.',
};

export interface Message {
  name: string;
  headers: HeaderSchema;
  contentType: string;
  payload: object;
  key: object;
  examples: readonly MessageExample[];
}

export interface Channel {
  id: string;
  topic: string;
  description: string;
  /** As the processor sees it. */
  action: 'send' | 'receive';
  /** By the name in the components. */
  messages: Record<string, Message>;
  hasReply: boolean;
}

const names = topicNames(PREFIX_PARAMETER);

function avroMessage(record: string, headers: HeaderSchema, key: object, examples: readonly MessageExample[]): Message {
  const payload = { schemaFormat: AVRO_FORMAT, schema: loadSchema(record) };
  return { name: record, headers, contentType: AVRO_CONTENT_TYPE, payload, key, examples };
}

function jsonMessage(record: string, headers: HeaderSchema, key: object, examples: readonly MessageExample[]): Message {
  const payload = { $ref: `#/components/schemas/${record}` };
  return { name: record, headers, contentType: JSON_CONTENT_TYPE, payload, key, examples };
}

function docOf(record: string): string {
  return loadSchema(record).doc ?? record;
}

const commands = COMMAND_TYPES.map((type): Channel => {
  const record = COMMAND_RECORDS[type];
  return {
    id: `commands-${type}`,
    topic: names.commands[type],
    description: docOf(record),
    action: 'receive',
    hasReply: true,
    messages: {
      [record]: avroMessage(record, commandHeaders(record, 'avro'), COMMAND_KEY, [
        commandExample(type, AVRO_CONTENT_TYPE),
      ]),
      [`${record}Json`]: jsonMessage(record, commandHeaders(record, 'json'), COMMAND_KEY, [
        commandExample(type, JSON_CONTENT_TYPE),
      ]),
    },
  };
});

/** A topic of events, and its copy in JSON. */
function published(
  id: string,
  topic: string,
  record: string,
  key: object,
  examples: readonly MessageExample[],
): Channel[] {
  const inJson = examples.map((example) => ({
    ...example,
    headers: { ...example.headers, 'content-type': JSON_CONTENT_TYPE },
  }));
  const common = { action: 'send' as const, hasReply: false };
  return [
    {
      ...common,
      id,
      topic,
      description: docOf(record),
      messages: { [record]: avroMessage(record, publishedHeaders(record), key, examples) },
    },
    {
      ...common,
      id: `${id}-json`,
      topic: jsonCopyOf(topic),
      description: 'Copies in JSON, made by `npm run cli -- mirror` where they are wanted.',
      messages: { [`${record}Json`]: jsonMessage(record, jsonCopyHeaders(record), key, inJson) },
    },
  ];
}

export const CHANNELS: readonly Channel[] = [
  ...commands,
  ...published('results', names.results, 'CommandResult', COMMAND_KEY, RESULT_EXAMPLES),
  ...published(
    'transaction-status-changed',
    names.transactionStatusChanged,
    'TransactionStatusChanged',
    { type: 'string', description: 'The id of the transaction.' },
    [TRANSACTION_STATUS_EXAMPLE],
  ),
  ...published(
    'quote-status-changed',
    names.quoteStatusChanged,
    'QuoteStatusChanged',
    { type: 'string', description: 'The id of the quote.' },
    [QUOTE_STATUS_EXAMPLE],
  ),
  {
    id: 'dead-letters',
    topic: names.deadLetters,
    description: 'What could not be read, with key, value and headers as they were, and why.',
    action: 'send',
    hasReply: false,
    messages: {
      DeadLetter: {
        name: 'DeadLetter',
        headers: deadLetterHeaders([...DEAD_LETTER_REASONS, ...Object.values(HANDLED)]),
        contentType: 'application/octet-stream',
        payload: { description: 'The original bytes.' },
        key: { description: 'The original bytes, or none.' },
        examples: [DEAD_LETTER_EXAMPLE],
      },
    },
  },
  {
    id: 'operator-decisions',
    topic: names.operatorDecisions,
    description: docOf('OperatorDecision'),
    action: 'receive',
    hasReply: true,
    messages: {
      OperatorDecision: avroMessage('OperatorDecision', decisionHeaders('avro'), COMMAND_KEY, [
        decisionExample(AVRO_CONTENT_TYPE),
      ]),
      OperatorDecisionJson: jsonMessage('OperatorDecision', decisionHeaders('json'), COMMAND_KEY, [
        decisionExample(JSON_CONTENT_TYPE),
      ]),
    },
  },
  {
    id: 'operator-holds',
    topic: names.operatorHolds,
    description: 'Orders of operators to hold commands and to release them: the same record in each partition.',
    action: 'receive',
    hasReply: false,
    messages: {
      OperatorHold: {
        name: 'OperatorHold',
        headers: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
        contentType: JSON_CONTENT_TYPE,
        payload: z.toJSONSchema(holdOrder, { io: 'input' }),
        key: { type: 'string', description: 'Names the order.' },
        examples: [HOLD_EXAMPLE],
      },
    },
  },
];
