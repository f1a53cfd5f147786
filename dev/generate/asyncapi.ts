/**
 * Writes docs/asyncapi.yaml, the public topics as an AsyncAPI 3.1 document, from the tables of topics, commands, headers
 * and schemas; with `--check` only compares.
 */
import { readFileSync } from 'node:fs';
import { Document, stringify } from 'yaml';
import { readSomeSettings } from 'payment-processor-contract/config';
import {
  jsonCopyDefinitions,
  TOPIC_SETTING_NAMES,
  topicDefinitions,
} from 'payment-processor-contract/topic-definitions';
import { AVRO_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { recordOfTopic, topicNames } from 'payment-processor-contract/topics';
import { CHANNELS, PREFIX_PARAMETER, type Channel, type Message } from './asyncapi/channels.ts';
import { jsonSchemasOf } from './asyncapi/json-schema.ts';
import { writeOrCheck } from './generated-file.ts';

const { version, license } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
  license: string;
};
/** The default configuration of the topics. */
function topicBindings(): Map<string, object> {
  const settings = readSomeSettings({ TOPIC_PREFIX: 'payments' }, TOPIC_SETTING_NAMES);
  if (!settings.ok) throw new Error(settings.problems.join('; '));
  return new Map(
    [...topicDefinitions(settings.config), ...jsonCopyDefinitions(settings.config)].map((made) => [
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

/** Compact, because it is for programs; people find it in schemas/bundle. */
function compact(schema: unknown): unknown {
  return new Document(schema).createNode(schema, { flow: true });
}

function messageOf({ contentType, examples, headers, key, name, payload }: Message): object {
  const isAvro = contentType === AVRO_CONTENT_TYPE;
  return {
    name,
    contentType,
    headers,
    payload: 'schema' in payload ? { ...payload, schema: compact(payload.schema) } : payload,
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
const records = [...recordOfTopic(topicNames(PREFIX_PARAMETER)).values()];
const document = {
  asyncapi: '3.1.0',
  info: {
    title: 'Payment processor',
    version,
    description:
      'Payment commands in over Kafka, results and status changes out. The operations are the processor’s: it receives commands ' +
      'and sends results. Rules that schemas do not say (keys, conditions between fields, partitions, what a result lets one ' +
      'conclude) are in docs/events.md. Payloads of examples show the members of a record by name, ' +
      'also where the message is Avro.',
    license: { name: license },
  },
  channels: Object.fromEntries(CHANNELS.map((channel) => [channel.id, channelOf(channel, bindings)])),
  operations: Object.fromEntries(CHANNELS.map((channel) => [`${channel.action}-${channel.id}`, operationOf(channel)])),
  components: {
    parameters: { topicPrefix: { description: 'The setting TOPIC_PREFIX.', default: 'payments' } },
    messages: Object.fromEntries(
      CHANNELS.flatMap(({ messages }) => Object.entries(messages)).map(([name, message]) => [name, messageOf(message)]),
    ),
    schemas: jsonSchemasOf(records),
  },
};

const header =
  '# Generated from the tables of topics, commands, headers and schemas by `npm run generate`; do not edit.\n';
writeOrCheck(
  'docs/asyncapi.yaml',
  'the tables of topics, commands, headers and schemas',
  header + stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 }),
);
