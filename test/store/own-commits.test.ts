/**
 * What an open lane has committed is applied without being read back; whatever others wrote between is read from Kafka, and
 * nothing is passed over or applied twice.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import type { Kafka } from 'kafkajs';
import { systemClock } from 'payment-processor-contract/clock';
import { TopicTail } from '../../src/consumers/topic-tail.ts';
import { Committer } from '../../src/lanes/commits/committer.ts';
import { LaneWriter, type LaneFiller } from '../../src/lanes/commits/lane-writer.ts';
import type { LaneCommit } from '../../src/lanes/commits/lane-commit.ts';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import {
  createKafka,
  LANE_RETRY,
  PATIENT_RETRY,
  type KafkaSettings,
} from 'payment-processor-contract/kafka/kafka-client';
import { TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import type { LedgerRecord } from '../../src/store/ledger-index.ts';
import { LedgerReader, type OwnCommit } from '../../src/store/ledger-reader.ts';
import { plainKafkaSettings } from '../support/kafka-settings.ts';

const LANE = 0;
const silence = (): void => undefined;
/** Longer than a fetch and the time for which records are gathered take. */
const LATER = { timeout: 20_000, interval: 50 };

let settings: KafkaSettings;
let kafka: Kafka;
let topic: string;
let applied: LedgerRecord[];
let fatal: Error[];
let reader: LedgerReader;
const readers: LedgerReader[] = [];
const committers: Committer[] = [];

beforeEach(async () => {
  settings = plainKafkaSettings(inject('kafkaBrokers'));
  kafka = createKafka(settings, 'test', { retry: PATIENT_RETRY });
  topic = `test-own-commits-${randomUUID()}`;
  [applied, fatal] = [[], []];
  const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
  await makeUsableTopics(kafka, [{ topic, numPartitions: 1, configEntries }]);
  reader = await startReader(applied);
});
afterEach(async () => {
  await Promise.all(readers.splice(0).map((each) => each.stop()));
  await Promise.all(committers.splice(0).map((committer) => committer.close()));
  expect(fatal).toEqual([]);
});

async function startReader(into: LedgerRecord[]): Promise<LedgerReader> {
  const made = readerInto(into);
  await made.start(Infinity);
  return made;
}

function readerInto(into: LedgerRecord[]): LedgerReader {
  const made = new LedgerReader({
    settings,
    groupId: topic,
    clientId: topic,
    topic,
    laneCount: 1,
    sessionTimeoutMs: 6_000,
    index: {
      applyBatch: (_lane, records) => void into.push(...records),
      checkpoint: () => ({ nextOffset: 0n, timestampMs: 0, appliedMs: 0 }),
    },
    log: silence,
    isOpen: () => true,
    onCommitApplied: silence,
    onTransactionState: silence,
    onPosition: silence,
    clock: systemClock,
    onFatal: (error) => void fatal.push(error),
  });
  readers.push(made);
  return made;
}

/** Commits what it is given, a transaction for each. */
class Owner implements LaneFiller {
  readonly #writer: LaneWriter;
  #commit: LaneCommit | null = null;
  #placed = Promise.withResolvers<OwnCommit | null>();

  constructor(writer: LaneWriter) {
    this.#writer = writer;
    writer.join(this);
  }

  commit(records: LaneCommit['records']): Promise<OwnCommit | null> {
    this.#placed = Promise.withResolvers<OwnCommit | null>();
    this.#commit = { lane: LANE, records, shares: new Map(), bytes: 0 };
    this.#writer.wake();
    return this.#placed.promise;
  }

  fill(): LaneCommit | null {
    return this.#commit;
  }

  committed(own: OwnCommit | null): void {
    this.#commit = null;
    this.#placed.resolve(own);
  }

  lost(error: unknown): void {
    this.#placed.reject(error);
  }
}

function writer(): Owner {
  const made = (transactionalId: string): TransactionalProducer =>
    new TransactionalProducer(createKafka(settings, topic, { retry: LANE_RETRY }), {
      transactionalId,
      compressedTopics: new Set(),
    });
  const committer = new Committer({ groupId: topic, makeProducer: made, clock: systemClock });
  committers.push(committer);
  return new Owner(new LaneWriter(committer, { topic, partition: LANE }));
}

async function commit(own: Owner, ...keys: readonly string[]): Promise<OwnCommit> {
  const place = { topic, partition: LANE, headers: {} };
  const committed = await own.commit(keys.map((key) => ({ ...place, key, value: Buffer.from(`value of ${key}`) })));
  if (committed === null) throw new Error('the broker does not say where it wrote');
  return committed;
}

const keys = (): string[] => applied.map(({ key }) => key);
const placeOf = ({ key, offset, timestampMs, value }: LedgerRecord): unknown[] => [
  key,
  offset,
  timestampMs,
  value?.toString(),
];

/** All that Kafka has, as read by a reader that is handed no commits. */
async function allOfKafka(count: number): Promise<unknown[][]> {
  const read: LedgerRecord[] = [];
  await startReader(read);
  await vi.waitFor(() => expect(read.length).toBeGreaterThanOrEqual(count), LATER);
  return read.map(placeOf);
}

/** As they lie in Kafka. */
async function expectApplied(...wanted: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect(keys()).toEqual(wanted), LATER);
  expect(applied.map(placeOf)).toEqual(await allOfKafka(wanted.length));
}

/** A lane that has been taken: what it wrote first has been read. */
async function openLane(): Promise<Owner> {
  const own = writer();
  await commit(own, 'c:first');
  await vi.waitFor(() => expect(keys()).toEqual(['c:first']), LATER);
  return own;
}

test('what follows directly is applied as it lies in Kafka, and is not fetched', async () => {
  const own = await openLane();
  const before = vi.spyOn(TopicTail.prototype, 'pause');
  for (const key of ['c:a', 'c:b', 'c:c']) reader.ownCommitted(LANE, await commit(own, key, `${key}-too`));
  expect(before).toHaveBeenCalledTimes(1);
  await expectApplied('c:first', 'c:a', 'c:a-too', 'c:b', 'c:b-too', 'c:c', 'c:c-too');
  before.mockRestore();
});

test('once it is silent, what others write is read again, each record once', async () => {
  const own = await openLane();
  reader.ownCommitted(LANE, await commit(own, 'c:a'));
  await commit(writer(), 'c:other');
  await expectApplied('c:first', 'c:a', 'c:other');
});

test('a commit behind something of others waits until that has been read from Kafka', async () => {
  const own = await openLane();
  reader.ownCommitted(LANE, await commit(own, 'c:a'));
  await commit(writer(), 'c:other');
  const behind = await commit(own, 'c:b');
  expect(behind.isNext).toBe(false);
  reader.ownCommitted(LANE, behind);
  reader.ownCommitted(LANE, await commit(own, 'c:c'));
  await expectApplied('c:first', 'c:a', 'c:other', 'c:b', 'c:c');
});

test('a commit that was read from Kafka first is not applied again', async () => {
  const own = await openLane();
  const read = await commit(own, 'c:a');
  await vi.waitFor(() => expect(keys()).toEqual(['c:first', 'c:a']), LATER);
  reader.ownCommitted(LANE, read);
  reader.ownCommitted(LANE, await commit(own, 'c:b'));
  await vi.waitFor(() => expect(keys()).toEqual(['c:first', 'c:a', 'c:b']), LATER);
});

test('what a lane tells while the client starts is kept for its join', async () => {
  const own = writer();
  const first = await commit(own, 'c:first');
  const read: LedgerRecord[] = [];
  const starting = readerInto(read);
  const started = starting.start(Infinity);
  starting.ownCommitted(LANE, first);
  await started;
  const other = writer();
  await commit(other, 'c:other');
  await vi.waitFor(() => expect(read.map(({ key }) => key)).toEqual(['c:first', 'c:other']), LATER);
});

test('a lane that is fetched again at once goes on after the last commit that it reported', async () => {
  const own = await openLane();
  reader.ownCommitted(LANE, await commit(own, 'c:a'));
  reader.fetchAgain(LANE);
  await commit(own, 'c:b');
  await vi.waitFor(() => expect(keys()).toEqual(['c:first', 'c:a', 'c:b']), LATER);
});
