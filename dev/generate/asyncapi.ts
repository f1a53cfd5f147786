/**
 * Writes docs/asyncapi.yaml, the public topics as an AsyncAPI 3 document, from the tables of topics, commands, headers
 * and schemas; with `--check` only compares.
 */
import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { readSomeSettings } from '../../src/config.ts';
import { REDRIVEN } from '../../src/cli/redrive-notes.ts';
import { DEAD_LETTER_REASONS } from '../../src/ops/metric-labels.ts';
import { TOPIC_SETTING_NAMES, topicDefinitions } from '../../src/producers/topic-definitions.ts';
import { AVRO_CONTENT_TYPE, JSON_CONTENT_TYPE } from '../../src/records/cloud-events.ts';
import { COMMAND_RECORDS, COMMAND_TYPES } from '../../src/records/commands.ts';
import { loadSchema } from '../../src/records/schemas.ts';
import { topicNames } from '../../src/records/topics.ts';
import {
  commandExample,
  DEAD_LETTER_EXAMPLE,
  decisionExample,
  QUOTE_STATUS_EXAMPLE,
  RESULT_EXAMPLES,
  TRANSACTION_STATUS_EXAMPLE,
  type MessageExample,
} from './asyncapi/examples.ts';
import {
  commandHeaders,
  deadLetterHeaders,
  decisionHeaders,
  publishedHeaders,
  type HeaderSchema,
} from './asyncapi/headers.ts';
import { jsonSchemasOf } from './asyncapi/json-schema.ts';
import { writeOrCheck } from './generated-file.ts';

const { version, license } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
  license: string;
};
const PREFIX_PARAMETER = '{topicPrefix}';
const AVRO_FORMAT = 'application/vnd.apache.avro;version=1.9.0';
const COMMAND_KEY = {
  type: 'string',
  pattern: '^[!-~]{1,200}$',
  not: { pattern: '\\.execute$' },
  description: 'The idempotency key, as raw bytes.',
};

interface Message {
  name: string;
  headers: HeaderSchema;
  contentType: string;
  payload: object;
  key: object;
  examples: readonly MessageExample[];
}

interface Channel {
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
  const payload = { schemaFormat: AVRO_FORMAT, schema: { $ref: `../schemas/bundle/${record}.avsc` } };
  return { name: record, headers, contentType: AVRO_CONTENT_TYPE, payload, key, examples };
}

function jsonMessage(record: string, headers: HeaderSchema, example: MessageExample): Message {
  const payload = { $ref: `#/components/schemas/${record}` };
  return { name: record, headers, contentType: JSON_CONTENT_TYPE, payload, key: COMMAND_KEY, examples: [example] };
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
      [`${record}Json`]: jsonMessage(record, commandHeaders(record, 'json'), commandExample(type, JSON_CONTENT_TYPE)),
    },
  };
});

function published(
  id: string,
  topic: string,
  record: string,
  key: object,
  examples: readonly MessageExample[],
): Channel {
  const message = avroMessage(record, publishedHeaders(record), key, examples);
  return { id, topic, description: docOf(record), action: 'send', hasReply: false, messages: { [record]: message } };
}

const channels: Channel[] = [
  ...commands,
  published('results', names.results, 'CommandResult', COMMAND_KEY, RESULT_EXAMPLES),
  published(
    'transaction-status-changed',
    names.transactionStatusChanged,
    'TransactionStatusChanged',
    { type: 'string', description: 'The id of the transaction.' },
    [TRANSACTION_STATUS_EXAMPLE],
  ),
  published(
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
        headers: deadLetterHeaders([...DEAD_LETTER_REASONS, REDRIVEN]),
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
      OperatorDecisionJson: jsonMessage(
        'OperatorDecision',
        decisionHeaders('json'),
        decisionExample(JSON_CONTENT_TYPE),
      ),
    },
  },
];

/** How the topics are made by default. */
function topicBindings(): Map<string, object> {
  const settings = readSomeSettings({ TOPIC_PREFIX: 'payments' }, TOPIC_SETTING_NAMES);
  if (!settings.ok) throw new Error(settings.problems.join('; '));
  return new Map(
    topicDefinitions(settings.config).map((made) => [
      made.topic.replace(/^payments/, PREFIX_PARAMETER),
      {
        partitions: made.partitions,
        topicConfiguration: {
          'cleanup.policy': [made.cleanupPolicy],
          'retention.ms': made.retentionMs ?? -1,
          'max.message.bytes': made.maxMessageBytes,
        },
        bindingVersion: '0.5.0',
      },
    ]),
  );
}

function messageOf({ contentType, examples, headers, key, name, payload }: Message): object {
  const isAvro = contentType === AVRO_CONTENT_TYPE;
  return {
    name,
    contentType,
    headers,
    payload,
    bindings: {
      kafka: {
        key,
        ...(isAvro ? { schemaIdLocation: 'payload', schemaIdPayloadEncoding: 'confluent' } : {}),
        bindingVersion: '0.5.0',
      },
    },
    examples,
  };
}

function channelOf({ description, messages, topic }: Channel, bindings: Map<string, object>): object {
  return {
    address: topic,
    description,
    parameters: { topicPrefix: { $ref: '#/components/parameters/topicPrefix' } },
    messages: Object.fromEntries(
      Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
    ),
    bindings: { kafka: bindings.get(topic) ?? {} },
  };
}

function operationOf({ action, hasReply, id, messages }: Channel): object {
  const inChannel = (channel: string, name: string): object => ({ $ref: `#/channels/${channel}/messages/${name}` });
  return {
    action,
    channel: { $ref: `#/channels/${id}` },
    messages: Object.keys(messages).map((name) => inChannel(id, name)),
    ...(hasReply
      ? { reply: { channel: { $ref: '#/channels/results' }, messages: [inChannel('results', 'CommandResult')] } }
      : {}),
  };
}

const bindings = topicBindings();
const jsonRecords = [...Object.values(COMMAND_RECORDS), 'OperatorDecision'];
const document = {
  asyncapi: '3.0.0',
  info: {
    title: 'Payment processor',
    version,
    description:
      'Payment commands in over Kafka, results and status changes out. The operations are the processor’s: it receives commands ' +
      'and sends results. Rules that schemas do not say (keys, conditions between fields, partitions, what a result lets one ' +
      'conclude) are in docs/events.md and README.md. Payloads of examples show the members of a record by name, ' +
      'also where the message is Avro.',
    license: { name: license },
  },
  channels: Object.fromEntries(channels.map((channel) => [channel.id, channelOf(channel, bindings)])),
  operations: Object.fromEntries(channels.map((channel) => [`${channel.action}-${channel.id}`, operationOf(channel)])),
  components: {
    parameters: { topicPrefix: { description: 'The setting TOPIC_PREFIX.', default: 'payments' } },
    messages: Object.fromEntries(
      channels.flatMap(({ messages }) => Object.entries(messages)).map(([name, message]) => [name, messageOf(message)]),
    ),
    schemas: jsonSchemasOf(jsonRecords),
  },
};

const header =
  '# Generated from the tables of topics, commands, headers and schemas by `npm run generate`; do not edit.\n';
writeOrCheck(
  'docs/asyncapi.yaml',
  'the tables of topics, commands, headers and schemas',
  header + stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 }),
);
