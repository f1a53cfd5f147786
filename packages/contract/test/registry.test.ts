/** Avro of strangers: what they meant is what is read, or it is refused with a sentence (I6, I8); an outage is neither (I5). */
import { randomUUID } from 'node:crypto';
import avsc from 'avsc';
import { describe, expect, inject, test } from 'vitest';
import { readCommandFields } from '../src/command-fields.ts';
import { RecordRegistry } from '../src/registry.ts';
import { AVRO_OPTIONS, loadSchema, loadType } from '../src/schemas.ts';
import { recordOfTopic, subjectOf, topicNames } from '../src/topics.ts';
import { startHostileService } from '../../../test/support/hostile-service.ts';
import { framed } from '../../../test/support/registry-frame.ts';

const url = inject('schemaRegistryUrl');
const ACCOUNT = { type: 'record', name: 'TransferInAccount', namespace: 'payments.v1', fields: [text('accountId')] };

function text(name: string): object {
  return { name, type: 'string' };
}

/** Topics of its own, with nothing registered yet. */
function freshTopics() {
  const topics = topicNames(`registry-${randomUUID().slice(0, 8)}`);
  return { topics, topic: topics.commands['transfer-in'], registry: registryOf(topics) };
}

function registryOf(topics: ReturnType<typeof topicNames>, base = url): RecordRegistry {
  const time = { monotonicMs: () => performance.now(), sleep: async () => undefined };
  return new RecordRegistry({ url: base, username: null, password: null, records: recordOfTopic(topics), time });
}

/** Passes requests on to the registry. */
function countingProxy(): ReturnType<typeof startHostileService> {
  return startHostileService(async ({ method, path, body }) => {
    const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
    const inner = `${url}${path.slice(path.indexOf('/', 1))}`;
    const response = await fetch(inner, { method, headers, ...(method === 'GET' ? {} : { body }) });
    return { httpStatus: response.status, body: await response.text() };
  });
}

async function register(subject: string, schema: unknown, more: object = {}): Promise<number> {
  const response = await fetch(`${url}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(schema), ...more }),
  });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { id: number }).id;
}

/** A transfer-in by a publisher's own schema, of the same name, with these fields beside or instead of ours. */
function transferSchema(...fields: object[]): Record<string, unknown> {
  return {
    type: 'record',
    name: 'TransferIn',
    namespace: 'payments.v1',
    // One that no other test has: a registry gives equal schemas one id.
    doc: randomUUID(),
    fields: [
      { name: 'source', type: ACCOUNT },
      { name: 'destination', type: 'payments.v1.TransferInAccount' },
      ...fields,
    ],
  };
}

const typeOf = (schema: unknown): avsc.Type => avsc.Type.forSchema(schema as avsc.Schema, { ...AVRO_OPTIONS });
const SIDES = { source: { accountId: 'ExternalAccount:1' }, destination: { accountId: 'InternalAccount:1' } };
const AMOUNT = { name: 'amount', type: ['null', 'long'], default: null };

async function published(schema: Record<string, unknown>, value: object) {
  const { topic, registry } = freshTopics();
  const id = await register(subjectOf(topic), schema);
  const decoded = await registry.decode(topic, framed(id, typeOf(schema).toBuffer({ ...SIDES, ...value })));
  return decoded.kind === 'record' ? readCommandFields('transfer-in', decoded.value) : decoded;
}

async function isUnreadable(schema: unknown, bytes: Buffer, problem: RegExp, more?: object): Promise<void> {
  const { topic, registry } = freshTopics();
  const id = await register(subjectOf(topic), schema, more);
  const decoded = await registry.decode(topic, framed(id, bytes));
  expect(decoded).toMatchObject({ kind: 'unreadable', problem: expect.stringMatching(problem) as string });
}

describe('a field that we do not know', () => {
  test('makes a command INVALID by its path, wherever it is and whatever type it has, unless it is null', async () => {
    const misspelt = transferSchema({ name: 'amont', type: ['null', 'long'], default: null }, AMOUNT);
    expect(await published(misspelt, { amount: 1000n, amont: 10_000n })).toMatchObject({
      ok: false,
      problems: [{ path: 'amont', message: expect.stringMatching(/not a field.*leave it out/) as string }],
    });
    expect(await published(misspelt, { amount: 1000n, amont: null })).toMatchObject({
      ok: true,
      value: { amount: 1000n },
    });
    const nested = structuredClone(transferSchema(AMOUNT));
    (nested['fields'] as { type: unknown }[])[0]!.type = { ...ACCOUNT, fields: [text('accountId'), text('iban')] };
    expect(
      await published(nested, {
        source: { accountId: 'a', iban: '' },
        destination: { accountId: 'b', iban: 'x' },
        amount: 1n,
      }),
    ).toMatchObject({ ok: false, problems: [{ path: 'source.iban' }, { path: 'destination.iban' }] });
    const odd: [unknown, unknown][] = [
      [{ type: 'map', values: 'string' }, {}],
      [{ type: 'array', items: 'null' }, [null]],
      [{ type: 'fixed', name: 'F', size: 2 }, Buffer.from([1, 2])],
      [{ type: 'enum', name: 'E', symbols: ['A'] }, 'A'],
      [{ type: 'bytes', logicalType: 'decimal', precision: 4, scale: 2 }, Buffer.from([1])],
      ['double', NaN],
      ['boolean', false],
      [{ type: 'record', name: 'Empty', fields: [] }, {}],
    ];
    for (const [type, value] of odd) {
      expect(
        await published(transferSchema(AMOUNT, { name: 'extra', type }), { amount: 1n, extra: value }),
      ).toMatchObject({ ok: false, problems: [{ path: 'extra' }] });
    }
  });

  test('stays in what is kept of the command, so that trying it again does not drop it', async () => {
    const { topic, registry } = freshTopics();
    const schema = transferSchema(AMOUNT, text('currency'));
    const id = await register(subjectOf(topic), schema);
    const values = ['USD', 'EUR'].map(async (currency) => {
      const bytes = framed(id, typeOf(schema).toBuffer({ ...SIDES, amount: 1n, currency }));
      const decoded = await registry.decode(topic, bytes);
      return decoded.kind === 'record' ? (decoded.value as { currency: string }).currency : '';
    });
    const [usd, eur] = await Promise.all(values);
    expect(usd).not.toBe(eur);
  });
});

describe('schema ids', () => {
  test('of another subject are refused, and of our own taken at once when they are registered', async () => {
    const { topics, topic, registry } = freshTopics();
    await register(subjectOf(topic), loadSchema('TransferIn'));
    const schema = transferSchema(AMOUNT);
    const id = await register(subjectOf(topics.commands['reject-transaction']), schema);
    const bytes = framed(id, typeOf(schema).toBuffer({ ...SIDES, amount: 7n }));
    const foreign = await registry.decode(topic, bytes);
    const problem = `schema id ${id} does not belong to subject ${subjectOf(topic)}: register`;
    expect(foreign).toMatchObject({ kind: 'unknown-schema', problem: expect.stringContaining(problem) as string });
    expect(await register(subjectOf(topic), schema)).toBe(id);
    expect(await registry.decode(topic, bytes)).toMatchObject({ kind: 'record', value: { amount: 7n } });
  });

  // The other faults of a registry: test/access/registry-faults.test.ts.
  test('wait while the registry does not know our subject', async () => {
    const { topic, registry, topics } = freshTopics();
    expect(await registry.decode(topic, framed(2 ** 31 - 1, Buffer.alloc(3)))).toMatchObject({ kind: 'unavailable' });
    const id = await register(subjectOf(topics.results), transferSchema(AMOUNT));
    expect(await registry.decode(topic, framed(id, Buffer.alloc(3)))).toMatchObject({ kind: 'unavailable' });
  });

  test('are asked for once each, together as well', async () => {
    const { topics, topic } = freshTopics();
    const schema = transferSchema(AMOUNT);
    const id = await register(subjectOf(topic), schema);
    const proxy = await countingProxy();
    const registry = registryOf(topics, proxy.baseUrl);
    const bytes = framed(id, typeOf(schema).toBuffer({ ...SIDES, amount: 7n }));
    const decoded = await Promise.all(Array.from({ length: 20 }, async () => registry.decode(topic, bytes)));
    await registry.decode(topic, bytes);
    expect(decoded.every(({ kind }) => kind === 'record')).toBe(true);
    expect(proxy.requests.length).toBe(2);
    await proxy.close();
  });
});

describe('a schema that a stranger registered under our subject', () => {
  const refused: [string, unknown, RegExp, object?][] = [
    [
      'of another record',
      { ...transferSchema(AMOUNT), name: 'Transfer' },
      /named payments.v1.Transfer: name it payments.v1.TransferIn/,
    ],
    [
      'of another inner record',
      {
        ...transferSchema(AMOUNT),
        fields: [
          { name: 'source', type: { ...ACCOUNT, name: 'Account' } },
          { name: 'destination', type: 'payments.v1.Account' },
        ],
      },
      /no record of ours named payments.v1.Account/,
    ],
    ['that is no record', { type: 'map', values: 'string' }, /not a record/],
    ['without what we need', { ...transferSchema(), fields: [] }, /cannot be read as TransferIn/],
    [
      'with an amount that cannot be one',
      transferSchema({ name: 'amount', type: 'double' }),
      /cannot be read as TransferIn/,
    ],
    [
      'with a field of a name that objects have',
      transferSchema(AMOUNT, { name: 'constructor', type: ['null', 'int'], default: null }),
      /named constructor/,
    ],
    ['that is larger than any of ours', { ...transferSchema(AMOUNT), doc: 'x'.repeat(140_000) }, /at most 131072/],
    [
      'in JSON Schema',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' },
      /is JSON, not AVRO/,
      { schemaType: 'JSON' },
    ],
  ];
  test.each(refused)('is refused with a sentence: %s', async (_name, schema, problem, more) => {
    await isUnreadable(schema, Buffer.alloc(10), problem, more);
  });

  test('may refer to others', async () => {
    const { topics, topic, registry } = freshTopics();
    const account = subjectOf(`${topics.results}-account`);
    await register(account, ACCOUNT);
    const schema = transferSchema(AMOUNT);
    (schema['fields'] as { type: unknown }[])[0]!.type = 'payments.v1.TransferInAccount';
    const references = [{ name: 'payments.v1.TransferInAccount', subject: account, version: 1 }];
    const id = await register(subjectOf(topic), schema, { references });
    const bytes = loadType('TransferIn').toBuffer({ ...SIDES, amount: 7n });
    expect(await registry.decode(topic, framed(id, bytes))).toMatchObject({ kind: 'record', value: { amount: 7n } });
  });
});

describe('hostile bytes', () => {
  /** The longest varint of a count. */
  const HUGE = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
  const nullArrays = transferSchema({ name: 'x', type: { type: 'array', items: 'null' } });
  const longArrays = transferSchema({ name: 'x', type: { type: 'array', items: 'long' } });
  const tree = transferSchema({
    name: 'x',
    type: ['null', { type: 'record', name: 'Node', fields: [{ name: 'next', type: ['null', 'Node'] }] }],
  });
  const doubling = transferSchema({
    name: 'x',
    type: Array.from({ length: 25 }).reduce<unknown>(
      (inner, _, index) => ({
        type: 'record',
        name: `D${index}`,
        fields: [
          { name: 'a', type: inner },
          { name: 'b', type: index === 0 ? 'null' : `payments.v1.D${index - 1}` },
        ],
      }),
      'null',
    ),
  });
  const sides = typeOf(transferSchema()).toBuffer(SIDES);
  const cases: [string, Record<string, unknown>, readonly number[], RegExp][] = [
    ['a count of items that take no bytes', nullArrays, [...HUGE], /more than 100000 values/],
    ['a negative count of them', nullArrays, [0xff, ...HUGE.slice(1), 0, 0], /more than 100000 values/],
    ['a count of items that are not there', longArrays, [...HUGE], /end before the value does/],
    ['a block that lies about its bytes', longArrays, [0x01, 0x7e, 0x02, 0x00], /states a length of 63/],
    ['nesting without end', tree, Array.from({ length: 30_000 }, () => 2), /nested more than 100 deep/],
    ['records that double without bytes', doubling, [], /more than 100000 values/],
    ['a varint without end', longArrays, Array.from({ length: 60_000 }, () => 0xff), /out of range/],
    ['bytes behind the value', nullArrays, [0, 7], /1 bytes follow/],
    ['a union branch that is not there', tree, [4], /no branch 2/],
    ['a negative union branch', tree, [1], /no branch -1/],
    ['a text of negative length', transferSchema(text('x')), [1], /negative/],
    ['a text that is not UTF-8', transferSchema(text('x')), [2, 0xff], /x is not UTF-8/],
    ['half of a surrogate pair', transferSchema(text('x')), [6, 0xed, 0xa0, 0x80], /x is not UTF-8/],
    ['a boolean of two', transferSchema({ name: 'x', type: 'boolean' }), [2], /neither 0 nor 1/],
  ];
  test.each(cases)('are unreadable, quickly: %s', async (_name, schema, tail, problem) => {
    await isUnreadable(schema, Buffer.concat([sides, Buffer.from(tail)]), problem);
  });

  test('never lose an entry of a map, and never count one twice', async () => {
    const { topics, registry } = freshTopics();
    const topic = topics.commands['create-quote'];
    const schema = loadSchema('CreateQuote');
    const id = await register(subjectOf(topic), schema);
    const quote = {
      source: { sourceType: 'ACCOUNT', accountId: 'a', otherFieldsJson: null },
      destination: { destinationType: 'UMA_ADDRESS', accountId: 'b', otherFieldsJson: null },
      ...{ lockedCurrencySide: 'SENDING', lockedCurrencyAmount: 1n, lookupId: 'c', immediatelyExecute: false },
      ...{ description: null, purposeOfPayment: null },
    };
    const decode = async (entries: [string, string][]) => {
      const bytes = typeOf(schema).toBuffer({ ...quote, senderCustomerInfo: Object.fromEntries(entries) });
      const decoded = await registry.decode(topic, framed(id, bytes));
      return decoded.kind === 'record' ? readCommandFields('create-quote', decoded.value) : decoded;
    };
    expect(await decode([['constructor', 'c']])).toMatchObject({ value: { senderCustomerInfo: { constructor: 'c' } } });
    expect(await decode([['__proto__', 'c']])).toMatchObject({
      ok: false,
      problems: [{ path: 'senderCustomerInfo.__proto__' }],
    });
    const twice = typeOf(schema).toBuffer({ ...quote, senderCustomerInfo: { ab: '1', ac: '2' } });
    twice[twice.indexOf('ac') + 1] = 'b'.charCodeAt(0);
    expect(await registry.decode(topic, framed(id, twice))).toMatchObject({
      problem: expect.stringMatching(/senderCustomerInfo.ab appears twice/) as string,
    });
  });

  // Under our own schemas: test/promises/i6-fuzz.test.ts, 'the pure intake is total'.
  test('of any kind end in a record or a sentence, also under the schema of another writer', async () => {
    const { topic, registry } = freshTopics();
    const schema = transferSchema(AMOUNT, {
      name: 'x',
      type: ['null', { type: 'map', values: { type: 'array', items: ['null', 'long', 'bytes'] } }],
      default: null,
    });
    const id = await register(subjectOf(topic), schema);
    const good = typeOf(schema).toBuffer({ ...SIDES, amount: 7n, x: { a: [null, 3n] } });
    let seed = 1;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) % below;
    };
    const kinds = new Set<string>();
    for (let round = 0; round < 2_000; round += 1) {
      const bytes = Buffer.from(good);
      for (let change = random(4); change >= 0; change -= 1) bytes[random(bytes.length)] = random(256);
      const decoded = await registry.decode(topic, framed(id, bytes.subarray(0, bytes.length - random(3))));
      if (decoded.kind === 'record') readCommandFields('transfer-in', decoded.value);
      kinds.add(decoded.kind);
    }
    expect([...kinds].sort()).toEqual(['record', 'unreadable']);
  });

  test('without the wire format get a problem that says how to write them', async () => {
    const { topic, registry } = freshTopics();
    expect(await registry.decode(topic, Buffer.from('{"amount":1}'))).toMatchObject({
      problem: expect.stringMatching(/wire format.*serializer.*content-type: application\/json/) as string,
    });
  });
});

test('many first records of a topic share one look-up', async () => {
  const { topics, topic } = freshTopics();
  await register(subjectOf(topic), loadSchema('TransferIn'));
  const proxy = await countingProxy();
  const registry = registryOf(topics, proxy.baseUrl);
  await Promise.all(Array.from({ length: 300 }, () => registry.ready(topic)));
  expect(proxy.requests).toHaveLength(2);
  await proxy.close();
});

test('halves of surrogate pairs are written as what every reader reads', async () => {
  const { topics, registry } = freshTopics();
  const topic = topics.quoteStatusChanged;
  await register(subjectOf(topic), loadSchema('QuoteStatusChanged'));
  const value = { quoteId: 'q\ud800', previousStatus: null, status: '\udfff', transactionId: null, expiresAt: null };
  const more = { commandKey: null, observedAt: 1n, derivedFromTransaction: true };
  await registry.ready(topic);
  const bytes = registry.encode(topic, { ...value, ...more });
  expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(6))).not.toThrow();
  expect(await registry.decode(topic, bytes)).toMatchObject({ value: { quoteId: 'q\ufffd', status: '\ufffd' } });
});
