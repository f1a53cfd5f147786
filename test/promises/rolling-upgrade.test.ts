/**
 * A ledger that a release left, taken over by a process of this one: nothing is lost, no money moves twice, and the release
 * can take it back.
 */
import { expect } from 'vitest';
import avsc from 'avsc';
import { openTopicReader, type TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { Entry, Phase } from '../../src/ledger/entry.ts';
import { decodeEntry, encodeEntry } from '../../src/ledger/entry-record.ts';
import { learnSchema, schemaRecords, SCHEMA_PREFIX } from '../../src/ledger/ledger-value.ts';
import { AVRO_OPTIONS } from 'payment-processor-contract/schemas';
import { otherRelease } from '../ledger/other-release.ts';
import {
  positionRecords,
  ENTRY_PREFIX,
  POSITION_KEY,
  TRANSACTION_PREFIX,
  type PositionRecord,
} from '../../src/ledger/ledger-records.ts';
import { COMMAND_TYPES, OUTCOME_NAMES } from 'payment-processor-contract/commands';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import { entryAt } from '../ledger/entries.ts';
import { FIXTURES, valueOf, type LedgerFixture } from '../ledger/fixtures/fixtures.ts';
import { createQuoteOf, keysOfLane, transferInOf } from '../support/commands.ts';
import { eventually } from '../support/watch.ts';
import { stackTests, type TestStack } from '../support/with-stack.ts';

/** However old the fixture is: keys are remembered, and the service is trusted to remember them. */
const LONG = { LEDGER_RETENTION: '36500d', API_IDEMPOTENCY_RETENTION: '36500d', API_TIMEOUT_MS: '15000' };
const SETTLED_MS_MAX = 60_000;
const HOUR_MS = 3_600_000;
/** Longer than the reader of a ledger waits for its lane to say something. */
const READ_AGAIN_MS = 5_000;
/** Of a value of the ledger; its body comes behind. */
const HEAD_BYTES = 16;

const { stack: open, test } = stackTests({ name: 'upgrade', lanes: 1, settings: LONG });

/** Of those whose entries do not have them any more. */
const FIELDS_OF_DONE: Readonly<Record<string, object>> = {
  accepted: transferInOf('accepted'),
  refused: { quoteId: 'Quote:none', transactionId: 'Transaction:none' },
  unknown: transferInOf('unknown'),
  quoted: { ...createQuoteOf('quoted'), immediatelyExecute: true },
};

/** What a release to come leaves: entries have a field more, which this one does not know. */
function newerThan(fixture: LedgerFixture): LedgerFixture {
  const newer = otherRelease('LedgerEntry', ({ fields }) => {
    fields.splice(5, 0, { name: 'addedLater', type: ['null', 'string'] });
  });
  for (const key of Object.keys(fixture.records)) if (key.startsWith(SCHEMA_PREFIX)) learnSchema(valueOf(fixture, key));
  const records = Object.keys(fixture.records).map((key): [string, Buffer] => {
    const value = valueOf(fixture, key);
    if (!key.startsWith(ENTRY_PREFIX)) return [key, value];
    return [key, newer.written(encodeEntry(decodeEntry(value)), { addedLater: 'since then' })];
  });
  const written = [[newer.schema.key, newer.schema.value] as const, ...records];
  const inBase64 = written.map(([key, value]) => [key, value.toString('base64')]);
  return {
    ...fixture,
    release: `a release after ${fixture.release}`,
    records: Object.fromEntries(inBase64) as Records,
  };
}
type Records = LedgerFixture['records'];

test.each(FIXTURES.flatMap((fixture) => [fixture, newerThan(fixture)].map((left) => ({ ...left, fixture }))))(
  'what $release left: copies get its answers, and what it had begun ends as its operation allows',
  async ({ fixture, ...left }) => {
    const stack = open();
    const entries = entriesOf(fixture);
    // Read by the process that left the ledger, then published again.
    await publishAll(stack, entries);
    await writeLedger(stack, left);
    await publishAll(stack, entries);
    await stack.startProcessor();

    const ended = await eventually(() => endsOf(stack), isOver, 'every entry to be done', SETTLED_MS_MAX);
    expect(ended).toEqual({
      accepted: 'ACCEPTED',
      refused: 'REFUSED',
      unknown: 'UNKNOWN',
      // Its quote has run out: another is made.
      quoted: 'ACCEPTED',
      parked: 'ACCEPTED',
      // A quote moves nothing, and is asked for again; a transfer is repeated by its key.
      'intent-of-quote': 'ACCEPTED',
      'intent-of-transfer': 'ACCEPTED',
      // This service does not show the transactions of the other.
      doubtful: 'UNKNOWN',
      'intent-of-execution': 'UNKNOWN',
    });

    const theirs = entrySchemas(Object.keys(fixture.records).map((key) => [key, valueOf(fixture, key)])).at(-1);
    const ours = entrySchemas([...schemaRecords()])[0];
    const resolver = ours === undefined ? undefined : theirs?.type.createResolver(ours.type);
    const written = (await writtenEntries(stack)).filter((value) => value.includes(ours?.fingerprint ?? 'none'));
    expect(written.length).toBeGreaterThan(0);
    for (const value of written) expect(() => void theirs?.type.decode(value, HEAD_BYTES, resolver)).not.toThrow();

    const results = await eventually(() => resultsOf(stack), coversAll(entries), 'a result for each copy');
    for (const key of ['accepted', 'refused', 'unknown']) {
      const { phase } = entryOf(fixture, key);
      const kept = phase.state === 'DONE' ? phase.result.value : null;
      expect(
        results.get(key)?.map((value) => value.equals(kept ?? Buffer.alloc(0))),
        key,
      ).toEqual([true]);
    }

    const { operations, totals } = await stack.service.effects();
    expect(Object.keys(operations['transfer-in'])).toEqual(['intent-of-transfer']);
    expect(operations['transfer-in']['intent-of-transfer']).toMatchObject({ calls: 1, effects: 1 });
    expect(Object.keys(operations['create-quote']).sort()).toEqual(['intent-of-quote', 'parked', 'quoted']);
    // The one of the quote that was made anew.
    expect(totals['execute-quote']).toEqual({ calls: 1, effects: 1 });
  },
);

test('a copy of what a release to come has finished in its own way is a dead letter that says so, and the lane goes on', async () => {
  const stack = open();
  const fixture = FIXTURES.at(-1)!;
  const finished = entryOf(fixture, 'accepted');
  const later = encodeEntry({ ...finished, phase: { ...finished.phase, outcome: 'SUPERSEDED' } as unknown as Phase });
  const records = { ...fixture.records, [`${ENTRY_PREFIX}accepted`]: later.toString('base64') };
  await publishAll(stack, entriesOf(fixture));
  await writeLedger(stack, { ...fixture, records });
  await publishAll(stack, [finished]);
  await stack.publisher.publish('transfer-in', 'behind', transferInOf('behind'));
  await stack.startProcessor();

  expect((await stack.journal.result('behind')).value.outcome).toBe('ACCEPTED');
  const letter = await stack.journal.deadLetter(({ key }) => key?.toString() === 'accepted', 'the copy');
  expect(letter.headers).toMatchObject({
    'dlq-reason': 'SET_ASIDE',
    'dlq-message': expect.stringMatching(/a field that this release cannot read: outcome\. Run the release/) as string,
  });
  // Its own result stands, and nothing may say that there is none.
  expect(stack.journal.results('accepted')).toEqual([]);
  expect((await stack.service.effects()).operations['transfer-in']['accepted']).toBeUndefined();
});

test.each(['while it polls', 'before it starts'])(
  'a state of a transaction that a release to come has written its own way, %s, keeps no other from being polled',
  async (when) => {
    const stack = open();
    const polled = async (name: string): Promise<string> => {
      const { id } = await stack.service.simulateUmaReceive(`Customer:${name}-x`);
      await stack.journal.until(() => stack.journal.hasTransactionEvent(id), `${name} to be polled`);
      return id;
    };
    const before = await stack.startProcessor();
    await before.logged('polling');
    const ledgerKey = TRANSACTION_PREFIX + (await polled('theirs'));
    if (when === 'before it starts') await before.stop();
    const theirs = (await stack.readLedger()).findLast(({ key }) => key?.toString() === ledgerKey);
    await writeToLedger(stack, [{ key: ledgerKey, value: Buffer.from(theirs?.value ?? []).fill(0xff, HEAD_BYTES) }]);
    if (when === 'before it starts') await stack.startProcessor();
    await polled('ours');
    await new Promise((resolve) => setTimeout(resolve, READ_AGAIN_MS));
    await polled('ours-too');
  },
);

test('what another release has begun with fields that this one does not take is set aside, and the lane goes on', async () => {
  const stack = open();
  const left = { ...entryAt('transfer-in'), deadlineMs: Date.now() + HOUR_MS, fieldsJson: '{"amount":5}' };
  const parked = { state: 'PARKED', untilMs: Date.now(), reason: 'told to wait' } as const;
  const entries = [
    { ...left, key: 'parked', phase: parked },
    { ...left, key: 'called' },
    { ...left, key: 'in-doubt', attempts: 1, firstSentMs: Date.now(), lastEndedMs: Date.now(), phase: parked },
  ];
  await writeToLedger(
    stack,
    entries.map((entry) => ({ key: ENTRY_PREFIX + entry.key, value: encodeEntry(entry) })),
  );
  await stack.startProcessor();
  await stack.publisher.publish('transfer-in', 'behind', transferInOf('behind'));
  const results = await stack.journal.resultsOfAll(['behind', 'parked', 'called', 'in-doubt']);
  expect(results.map(({ key, value }) => [key, value.outcome, value.error?.code])).toEqual([
    ['behind', 'ACCEPTED', undefined],
    ['parked', 'FAILED', 'SET_ASIDE'],
    ['called', 'UNKNOWN', 'UNDECIDABLE'],
    ['in-doubt', 'UNKNOWN', 'UNDECIDABLE'],
  ]);
  expect(Object.keys((await stack.service.effects()).operations['transfer-in'])).toEqual(['behind']);
});

const { stack: ofThree, test: testOfThree } = stackTests({ name: 'format', lanes: 3 });

testOfThree('a lane whose position is in the format of a release to come stops, and the others go on', async () => {
  const stack = ofThree();
  const pay = async (name: string, lanes: readonly number[]): Promise<void> => {
    const keys = lanes.flatMap((lane) => keysOfLane(name, lane, 1));
    for (const key of keys) await stack.publisher.publish('transfer-in', key, transferInOf(key));
    await stack.journal.resultsOfAll(keys);
  };
  const before = await stack.startProcessor();
  await pay('before', [0, 1, 2]);
  await before.stop();
  const ofLane = (await stack.readLedger()).filter(({ partition }) => partition === 0);
  const value = Buffer.from(ofLane.findLast(({ key }) => key?.toString() === POSITION_KEY)?.value ?? []);
  value[0] = (value[0] ?? 0) + 1;
  await writeToLedger(stack, [{ key: POSITION_KEY, value }]);
  const processor = await stack.spawnProcessor();
  await processor.logged('lane-stopped');
  await pay('after', [1, 2]);
  await new Promise((resolve) => setTimeout(resolve, READ_AGAIN_MS));
  await pay('later', [1, 2]);
});

test('a ledger of JSON is refused at the start, with what to do, and nothing of it is called or written', async () => {
  const stack = open();
  await writeToLedger(stack, [{ key: `${ENTRY_PREFIX}a`, value: '{"v":1,"key":"a","phase":{"state":"INTENT"}}' }]);
  const processor = await stack.spawnProcessor();
  expect(await processor.ended).toMatchObject({ code: 1 });
  expect(processor.tail()).toMatch(/JSON format of builds before.*another TOPIC_PREFIX/);
  expect((await stack.readLedger()).map(({ key }) => key?.toString())).toEqual([`${ENTRY_PREFIX}a`]);
});

function entriesOf({ records }: LedgerFixture): Entry[] {
  return Object.entries(records).flatMap(([key, value]) =>
    key.startsWith(ENTRY_PREFIX) ? [decodeEntry(Buffer.from(value, 'base64'))] : [],
  );
}

function entryOf(fixture: LedgerFixture, key: string): Entry {
  return decodeEntry(valueOf(fixture, ENTRY_PREFIX + key));
}

async function publishAll({ publisher }: TestStack, entries: readonly Entry[]): Promise<void> {
  for (const { commandType, fieldsJson, key } of entries) {
    const fields = FIELDS_OF_DONE[key] ?? parseLossless(fieldsJson ?? 'null');
    await publisher.publishUntyped(commandType, key, fields);
  }
}

async function writeLedger(stack: TestStack, fixture: LedgerFixture): Promise<void> {
  const messages = Object.keys(fixture.records)
    // As its owner wrote them: schemas first.
    .sort((left, right) => Number(right.startsWith(SCHEMA_PREFIX)) - Number(left.startsWith(SCHEMA_PREFIX)))
    .map((key) => {
      const value = valueOf(fixture, key);
      return { key, value: key === POSITION_KEY ? positionIn(stack, fixture, value) : value };
    });
  await writeToLedger(stack, messages);
}

async function writeToLedger(
  { kafka, topics }: TestStack,
  records: readonly { key: string; value: Buffer | string }[],
): Promise<void> {
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: topics.ledger, messages: records.map((record) => ({ ...record, partition: 0 })) });
  await producer.disconnect();
}

/** The topics here have names and ids of their own; commands are in them as they were, and nothing else. */
function positionIn({ environment, topics }: TestStack, { topicPrefix }: LedgerFixture, value: Buffer): Buffer {
  const position = positionRecords.decode(value);
  const commands = COMMAND_TYPES.map((type) => topics.commands[type]);
  const next = Object.entries(position.next).map(([theirs, offset]) => {
    const topic = theirs.replace(topicPrefix, environment['TOPIC_PREFIX'] ?? '');
    return [topic, commands.includes(topic) ? offset : 0n];
  });
  const moved = Object.fromEntries(next) as PositionRecord['next'];
  return positionRecords.encode({ ...position, next: moved, topicIds: {}, epochs: {} });
}

/** Those of entries, by which they are read as well. */
function entrySchemas(
  records: readonly (readonly [key: string, value: Buffer])[],
): { fingerprint: Buffer; type: avsc.Type }[] {
  return records
    .filter(([key]) => key.startsWith(SCHEMA_PREFIX))
    .map(([key, value]) => ({ key, schema: JSON.parse(value.toString('utf8', HEAD_BYTES)) as { name: string } }))
    .filter(({ schema }) => schema.name === 'payments.internal.v1.LedgerEntry')
    .map(({ key, schema }) => ({
      fingerprint: Buffer.from(key.slice(SCHEMA_PREFIX.length), 'hex'),
      type: avsc.Type.forSchema(schema as unknown as avsc.Schema, { ...AVRO_OPTIONS }),
    }));
}

async function writtenEntries(stack: TestStack): Promise<Buffer[]> {
  const records = await stack.readLedger();
  // The processor may have read them in a process of its own.
  for (const { value } of records) learnSchema(value);
  return records.flatMap(({ key, value }) =>
    value !== null && key?.toString().startsWith(ENTRY_PREFIX) === true ? [value] : [],
  );
}

/** Outcomes by key, and phases of unfinished entries. */
async function endsOf(stack: TestStack): Promise<Readonly<Record<string, string>>> {
  const entries = (await writtenEntries(stack)).map(decodeEntry);
  const endOf = ({ phase }: Entry): string => (phase.state === 'DONE' ? phase.outcome : phase.state);
  return Object.fromEntries(entries.map((entry) => [entry.key, endOf(entry)]));
}

const isOver = (ends: Readonly<Record<string, string>>): boolean =>
  Object.values(ends).every((end) => COMMAND_OUTCOMES.has(end));
const COMMAND_OUTCOMES: ReadonlySet<string> = new Set(OUTCOME_NAMES);

/** Values by key, as they lie in the topic: the schema ids of the fixture are of another registry. */
async function resultsOf({ kafka, topics }: TestStack): Promise<ReadonlyMap<string, Buffer[]>> {
  const values = new Map<string, Buffer[]>();
  const onRecord = ({ key, value }: TopicRecord): void => {
    const name = key?.toString() ?? '';
    values.set(name, [...(values.get(name) ?? []), value ?? Buffer.alloc(0)]);
  };
  const options = {
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: topics.results,
    onRecord,
  } as const;
  const reader = await openTopicReader(kafka, { ...options, topics: [topics.results] });
  await reader.ended;
  await reader.close();
  return values;
}

const coversAll =
  (entries: readonly Entry[]) =>
  (results: ReadonlyMap<string, unknown[]>): boolean =>
    entries.every(({ key }) => results.has(key));
