/**
 * A ledger that a release left, taken over by a process of this one: nothing is lost, no money moves twice, and the release
 * can take it back.
 */
import { expect } from 'vitest';
import { z } from 'zod';
import { openTopicReader, type TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { Entry } from '../../src/ledger/entry.ts';
import { decodeEntry, ENTRY_PREFIX, POSITION_KEY } from '../../src/ledger/ledger-records.ts';
import { COMMAND_TYPES, OUTCOME_NAMES } from 'payment-processor-contract/commands';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import { FIXTURES, valueOf, type LedgerFixture } from '../ledger/fixtures/fixtures.ts';
import { createQuoteOf, transferInOf } from '../support/commands.ts';
import { eventually } from '../support/watch.ts';
import { stackTests, type TestStack } from '../support/with-stack.ts';

/** However old the fixture is: keys are remembered, and the service is trusted to remember them. */
const LONG = { LEDGER_RETENTION: '36500d', API_IDEMPOTENCY_RETENTION: '36500d', API_TIMEOUT_MS: '15000' };
const SETTLED_MS_MAX = 60_000;

const { stack: open, test } = stackTests({ name: 'upgrade', lanes: 1, settings: LONG });

/** Of those whose entries do not have them any more. */
const FIELDS_OF_DONE: Readonly<Record<string, object>> = {
  accepted: transferInOf('accepted'),
  refused: { quoteId: 'Quote:none', transactionId: 'Transaction:none' },
  unknown: transferInOf('unknown'),
  quoted: { ...createQuoteOf('quoted'), immediatelyExecute: true },
};

test.each(FIXTURES)(
  'what $release left: copies get its answers, and what it had begun ends as its operation allows',
  async (fixture) => {
    const stack = open();
    const entries = entriesOf(fixture);
    // Read by the process that left the ledger, then published again.
    await publishAll(stack, entries);
    await writeLedger(stack, fixture);
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

    const reads = z.fromJSONSchema(fixture.readsEntries);
    for (const entry of await writtenEntries(stack))
      expect(reads.safeParse(JSON.parse(entry.toString())).error?.issues ?? []).toEqual([]);

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

function entriesOf({ records }: LedgerFixture): Entry[] {
  return Object.entries(records).flatMap(([key, value]) =>
    key.startsWith(ENTRY_PREFIX) ? [decodeEntry(Buffer.from(value))] : [],
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
  const messages = Object.entries(fixture.records).map(([key, value]) =>
    key === POSITION_KEY
      ? { key, value: positionIn(stack, fixture, value) }
      : { key, value, headers: key.startsWith(ENTRY_PREFIX) ? { state: phaseOf(value) } : {} },
  );
  const producer = stack.kafka.producer();
  await producer.connect();
  await producer.send({
    topic: stack.topics.ledger,
    messages: messages.map((message) => ({ ...message, partition: 0 })),
  });
  await producer.disconnect();
}

const phaseOf = (value: string): string => decodeEntry(Buffer.from(value)).phase.state;

/** The topics here have names and ids of their own; commands are in them as they were, and nothing else. */
function positionIn({ environment, topics }: TestStack, { topicPrefix }: LedgerFixture, value: string): string {
  const position = JSON.parse(value.replaceAll(topicPrefix, environment['TOPIC_PREFIX'] ?? '')) as {
    next: Record<string, string>;
  };
  const commands = COMMAND_TYPES.map((type) => topics.commands[type]);
  const next = Object.entries(position.next).map(([topic, offset]) => [topic, commands.includes(topic) ? offset : '0']);
  return JSON.stringify({ ...position, next: Object.fromEntries(next) as unknown, topicIds: {} });
}

async function writtenEntries(stack: TestStack): Promise<Buffer[]> {
  return (await stack.readLedger()).flatMap(({ key, value }) =>
    value !== null && key?.toString().startsWith(ENTRY_PREFIX) === true ? [value] : [],
  );
}

/** Outcomes by key, and phases of what is not done. */
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
