/**
 * docs/compatibility.md, of schemas: the registry takes the schemas of an earlier, this and a later release at the level that
 * the project uses, so that each can read what the others write; and what both wrote is read by this one. That the registry
 * refuses others is tried in packages/cli/test/schemas.test.ts.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { COMPATIBILITY, registerSubjects } from 'payment-processor-cli/schema-subjects';
import { readCommandFields } from '../src/command-fields.ts';
import { COMMAND_RECORDS, COMMAND_TYPES } from '../src/commands.ts';
import { RecordRegistry } from '../src/registry.ts';
import { loadSchema, type RecordSchema } from '../src/schemas.ts';
import { recordOfTopic, subjectOf, topicNames } from '../src/topics.ts';
import { freshPrefix } from '../../client/test/fixtures.ts';
import { ADDED, fullValue, nextVersion, typeOf } from './schema-versions.ts';
import { framed } from '../../../test/support/registry-frame.ts';

/** Without its documentation: neither a reader nor the registry's check looks at that. */
const FIRST_RELEASE = JSON.parse(readFileSync('packages/contract/test/fixtures/schemas-0.1.0.json', 'utf8')) as Record<
  string,
  RecordSchema
>;
const ORDERS: readonly string[] = [...Object.values(COMMAND_RECORDS), 'OperatorDecision'];
const url = inject('schemaRegistryUrl');
const prefix = freshPrefix('evolution');
const RECORDS = [...recordOfTopic(topicNames(prefix))].map(([topic, record]) => ({ topic, record }));
const registry = new RecordRegistry({
  url,
  username: null,
  password: null,
  records: recordOfTopic(topicNames(prefix)),
});

async function post(topic: string, schema: RecordSchema): Promise<{ status: number; id: number }> {
  const response = await fetch(`${url}/subjects/${subjectOf(topic)}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(schema) }),
  });
  const { id } = (await response.json()) as { id?: number };
  return { status: response.status, id: id ?? 0 };
}

/** Ids of each topic's versions. */
const ids = new Map<string, { first: number; next: number }>();

beforeAll(async () => {
  // In the order in which releases would: the earlier one is there when ours is registered, and ours before the next.
  for (const { topic, record } of RECORDS)
    ids.set(topic, { first: (await post(topic, FIRST_RELEASE[record]!)).id, next: 0 });
  await registerSubjects({
    SCHEMA_REGISTRY_URL: url,
    SCHEMA_REGISTRY_USERNAME: null,
    SCHEMA_REGISTRY_PASSWORD: null,
    TOPIC_PREFIX: prefix,
  });
  for (const { topic, record } of RECORDS) {
    const next = await post(topic, nextVersion(loadSchema(record)));
    expect(next.status, `the next version of ${record}`).toBe(200);
    ids.get(topic)!.next = next.id;
  }
});

test('all subjects have the level that the policy promises, with the present and a later version', async () => {
  expect(COMPATIBILITY).toBe('FULL_TRANSITIVE');
  for (const { topic } of RECORDS) {
    const level = (await (await fetch(`${url}/config/${subjectOf(topic)}`)).json()) as { compatibilityLevel: string };
    expect(level.compatibilityLevel).toBe(COMPATIBILITY);
    const versions = (await (await fetch(`${url}/subjects/${subjectOf(topic)}/versions`)).json()) as number[];
    expect(versions.length).toBeGreaterThanOrEqual(2);
  }
});

describe.each(RECORDS)('$record', ({ topic, record }) => {
  test('what a publisher of the first release wrote is read', async () => {
    const first = FIRST_RELEASE[record]!;
    const written = fullValue(first);
    const decoded = await registry.decode(topic, framed(ids.get(topic)!.first, typeOf(first).toBuffer(written)));
    expect(decoded).toMatchObject({ kind: 'record', value: written });
  });

  test('what a later release wrote is read: its fields are passed over in events, and kept in sight in orders', async () => {
    const now = loadSchema(record);
    const next = nextVersion(now);
    const bytes = framed(ids.get(topic)!.next, typeOf(next).toBuffer(fullValue(next)));
    const decoded = await registry.decode(topic, bytes);
    expect(decoded).toMatchObject({ kind: 'record', value: fullValue(now) });
    const names = decoded.kind === 'record' ? Object.keys(decoded.value as object) : [];
    const seen = ADDED.map((field) => field.name).filter((name) => names.includes(name));
    expect(seen).toEqual(ORDERS.includes(record) ? ADDED.map((field) => field.name) : []);
  });
});

describe('a command of a later release', () => {
  const sides = { source: { accountId: 'ExternalAccount:1' }, destination: { accountId: 'InternalAccount:1' } };
  const schema = loadSchema('TransferIn');
  const topic = topicNames(prefix).commands['transfer-in'];
  const [optional] = ADDED;
  const next: RecordSchema = { ...schema, fields: [...schema.fields, optional!] };

  test.each([
    { name: 'is executed as long as it says nothing in the new field', addedText: null, ok: true },
    { name: 'is INVALID where it does: what is not understood is not executed', addedText: 'x', ok: false },
  ])('$name', async ({ addedText, ok }) => {
    const { id } = await post(topic, next);
    const avro = typeOf(next).toBuffer({ ...sides, amount: 2_500n, addedText });
    const decoded = await registry.decode(topic, framed(id, avro));
    expect(decoded.kind).toBe('record');
    const read = readCommandFields('transfer-in', decoded.kind === 'record' ? decoded.value : null);
    expect(read).toMatchObject(ok ? { ok, value: { amount: 2_500n } } : { ok, problems: [{ path: 'addedText' }] });
    // The release that knows the field must not take its bytes for a text when the command is retried.
    if (!ok)
      expect(decoded).toMatchObject({
        value: { addedText: { unreadAvro: [Buffer.from('\x02\x02x').toString('base64')] } },
      });
  });
});

test('a command type is for good: those of the first release are still taken', () => {
  const first = ['CreateQuote', 'ExecuteQuote', 'TransferIn', 'RejectTransaction', 'SimulateUmaReceive'];
  expect(COMMAND_TYPES.map((type) => COMMAND_RECORDS[type])).toEqual(expect.arrayContaining(first));
  expect(RECORDS.map(({ record }) => record)).toEqual(expect.arrayContaining(Object.keys(FIRST_RELEASE)));
});
