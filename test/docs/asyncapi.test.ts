/**
 * docs/asyncapi.yaml is an AsyncAPI 3.1 document, its examples are messages that our own code reads, and what publishers and the
 * processor really write is as it says.
 */
import { readFileSync } from 'node:fs';
import specs from '@asyncapi/specs';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { orderOf } from '../../src/consumers/hold-intake.ts';
import { openTopicReader, type TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { eventId, eventIdNames } from 'payment-processor-contract/cloud-events';
import { readCommandFields } from 'payment-processor-contract/command-fields';
import { COMMAND_RECORDS, COMMAND_TYPES } from 'payment-processor-contract/commands';
import { readJsonRecord } from 'payment-processor-contract/json-record';
import { keyProblem } from 'payment-processor-contract/keys';
import { parseLossless, stringifyLossless } from 'payment-processor-contract/lossless-json';
import { loadSchema, loadType } from 'payment-processor-contract/schemas';
import { everyTopic, jsonCopyOf, topicNames } from 'payment-processor-contract/topics';
import type { CommandResult } from 'payment-processor-contract/types';
import { useStack } from '../support/test-stack.ts';

interface Example {
  name: string;
  headers: Record<string, string>;
  payload: unknown;
}
interface Message {
  name: string;
  contentType: string;
  headers: object;
  payload: { schemaFormat?: string; schema?: object; $ref?: string };
  bindings: { kafka: { key: object } };
  examples: Example[];
}
interface Document {
  channels: Record<string, { address: string; messages: Record<string, { $ref: string }> }>;
  operations: Record<string, { channel: { $ref: string }; messages: { $ref: string }[] }>;
  components: { messages: Record<string, Message>; schemas: Record<string, object> };
}

const TEXT = readFileSync('docs/asyncapi.yaml', 'utf8');
const document = parse(TEXT) as Document;
/** The same, integers exact. */
const exact = parse(TEXT, { intAsBigInt: true }) as Document;
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema({ $id: 'asyncapi.yaml', ...document });

const MESSAGES = Object.entries(exact.components.messages).map(([id, message]) => ({ id, ...message }));
const EXAMPLES = MESSAGES.flatMap((message) =>
  message.examples.map((example) => ({ id: message.id, example: example.name, message, given: example })),
);
const commandTypeOf = (record: string) => COMMAND_TYPES.find((type) => COMMAND_RECORDS[type] === record);

/** What of the document a value breaks. */
function problemsOf(pointer: string, value: unknown): string[] {
  const validate = ajv.getSchema(`asyncapi.yaml#/${pointer}`);
  if (validate === undefined) return [`the document has no ${pointer}`];
  return validate(value) === true
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ''}`);
}

test('it is valid by the official schema of AsyncAPI 3.1', () => {
  const schema = specs.schemas['3.1.0'] as object;
  // It brings the schema of schemas with it.
  const validate = new Ajv({
    strict: false,
    validateFormats: false,
    allErrors: true,
    meta: false,
    validateSchema: false,
  }).compile(schema);
  expect(validate(document), JSON.stringify(validate.errors?.slice(0, 5))).toBe(true);
  // The check can fail.
  expect(validate({ ...document, operations: { broken: { action: 'listen' } } })).toBe(false);
});

test('it has every public topic, and none of the private ones', () => {
  const names = topicNames('{topicPrefix}');
  const { ledger, observations } = names;
  const open = everyTopic(names).filter((topic) => topic !== ledger && topic !== observations);
  const copies = [names.results, names.transactionStatusChanged, names.quoteStatusChanged].map(jsonCopyOf);
  const addresses = Object.values(document.channels).map(({ address }) => address);
  expect(addresses.sort()).toEqual([...open, ...copies].sort());
});

test('all that it refers to is in it: it stands alone', () => {
  const references = [...TEXT.matchAll(/\$ref: "?([^"\n]+)"?/g)].map(([, reference = '']) => reference);
  expect(references.length).toBeGreaterThan(30);
  const missing = references.filter((reference) => {
    if (!reference.startsWith('#/')) return true;
    const parts = reference.slice(2).split('/');
    return (
      parts.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document) ===
      undefined
    );
  });
  expect(missing).toEqual([]);
});

test('Avro messages have the schema that is registered', () => {
  const avro = MESSAGES.filter(({ payload }) => payload.schemaFormat !== undefined);
  expect(avro.length).toBe(9);
  for (const { name, payload } of avro) expect(payload.schema).toEqual(loadSchema(name));
});

describe.each(EXAMPLES)('the example $id, $example', ({ id, message, given }) => {
  test('has the headers of its message', () => {
    expect(problemsOf(`components/messages/${id}/headers`, given.headers)).toEqual([]);
  });

  test('is read by the code that reads such messages', () => {
    const type = commandTypeOf(message.name);
    const text = stringifyLossless(given.payload);
    if (message.name === 'DeadLetter') expect(given.payload).toBe('hello');
    else if (message.name === 'OperatorHold') expect(orderOf(Buffer.from(text))).toEqual(given.payload);
    else if (type !== undefined) {
      const read = readCommandFields(type, parseLossless(text));
      expect(read).toMatchObject({ ok: true });
      expect(roundTrip(message.name, read.ok ? read.value : {})).toEqual(read.ok ? read.value : null);
    } else {
      const read = readJsonRecord(message.name, text);
      expect(read).toMatchObject({ ok: true });
      expect(roundTrip(message.name, read.ok ? read.value : {})).toEqual(read.ok ? read.value : null);
      // All of it: nothing that the schema does not have.
      expect(parseLossless(stringifyLossless(read.ok ? (read.value as object) : {}))).toEqual(parseLossless(text));
    }
  });

  test('is a value of the JSON schema of its record', () => {
    if (['DeadLetter', 'OperatorHold'].includes(message.name)) return;
    const plain = document.components.messages[id]!.examples.find(({ name }) => name === given.name);
    expect(problemsOf(`components/schemas/${message.name}`, plain?.payload)).toEqual([]);
    expect(problemsOf(`components/schemas/${message.name}`, { ...(plain?.payload as object), other: 1 })).not.toEqual(
      [],
    );
  });
});

function roundTrip(record: string, value: unknown): unknown {
  const type = loadType(record);
  return type.fromBuffer(type.toBuffer(value));
}

test('event ids of the examples follow from their names', () => {
  for (const id of ['CommandResult', 'CommandResultJson']) {
    for (const { headers, payload } of exact.components.messages[id]!.examples) {
      const { commandKey, revision } = payload as CommandResult;
      expect(headers['ce_id']).toBe(eventId(eventIdNames.result('payments', commandKey, revision)));
    }
  }
});

test('keys of commands are those that the processor takes', () => {
  const keys = ['a', '!~', 'x'.repeat(200), 'a.execute.', '', 'x'.repeat(201), 'a b', 'é', 'a.execute', '\u007f'];
  for (const key of keys) {
    const problems = problemsOf('components/messages/TransferIn/bindings/kafka/key', key);
    expect({ key, ok: problems.length === 0 }).toEqual({ key, ok: keyProblem(key) === null });
  }
});

describe('what is really written', () => {
  const stack = useStack({ name: 'asyncapi', isRead: true });
  const records: TopicRecord[] = [];

  beforeAll(async () => {
    await stack().startProcessor();
    const { journal, publisher, topics } = stack();
    const fields = {
      source: { accountId: 'ExternalAccount:1' },
      destination: { accountId: 'InternalAccount:1' },
      amount: 2_500n,
    };
    const options = {
      expiresAt: new Date(Date.now() + 3_600_000),
      correlationId: 'order-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      source: '/billing',
    };
    await publisher.publish('transfer-in', 'k-1', fields, { ...options, contentType: 'json' });
    await journal.result('k-1');
    await publisher.publish('transfer-in', 'k-1', fields, { ...options, contentType: 'avro' });
    await publisher.publish('create-quote', 'k-2', {
      source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:1' },
      destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:1' },
      lockedCurrencySide: 'SENDING',
      lockedCurrencyAmount: 1_000n,
    });
    await journal.result('k-2');
    await stack().publishRaw('transfer-in', { key: 'k-3', value: 'hello' });
    await journal.result('k-3');
    await stack().publishDecision('k-3', { decision: 'EXECUTED', expectedRevision: 1, operator: 'o', reason: 'r' });
    await vi.waitFor(() => expect(journal.deadLetters()).toHaveLength(2), 30_000);
    // Told in a transaction after that of the result.
    await vi.waitFor(() => expect(journal.quoteEvents()).not.toEqual([]), 30_000);
    const { ledger, observations } = topics;
    const reader = await openTopicReader(stack().kafka, {
      topics: everyTopic(topics).filter((topic) => topic !== ledger && topic !== observations),
      start: { from: 'beginning' },
      untilEnd: true,
      groupPrefix: stack().settings.TOPIC_PREFIX,
      onRecord: (record) => void records.push(record),
    });
    await reader.ended;
    await reader.close();
  });

  test('is a message of its channel, with its headers and key', () => {
    const seen = new Set<string>();
    for (const { headers, key, topic } of records) {
      const address = topic.replace(stack().settings.TOPIC_PREFIX, '{topicPrefix}');
      const channel = Object.values(document.channels).find((candidate) => candidate.address === address);
      const fitting = Object.keys(channel?.messages ?? {}).filter(
        (id) => problemsOf(`components/messages/${id}/headers`, headers).length === 0,
      );
      expect(fitting, `${address} ${JSON.stringify(headers)}`).toHaveLength(1);
      const [id = ''] = fitting;
      seen.add(id);
      expect(problemsOf(`components/messages/${id}/bindings/kafka/key`, key?.toString())).toEqual([]);
    }
    expect([...seen].sort()).toEqual([
      'CommandResult',
      'CreateQuote',
      'DeadLetter',
      'OperatorDecisionJson',
      'QuoteStatusChanged',
      'TransactionStatusChanged',
      'TransferIn',
      'TransferInJson',
    ]);
  });
});
