/** Each lane's checkpoint is held against the ledger topic; what does not fit is read from the beginning. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { positionRecords, POSITION_KEY } from '../../src/ledger/ledger-records.ts';
import { openLedgerStore } from '../../src/store/ledger-start.ts';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { LmdbLedgerIndex } from '../../src/store/lmdb-ledger-index.ts';
import { deleteTopic } from '../support/delete-topic.ts';
import { plainKafkaSettings } from '../support/kafka-settings.ts';
import { removeDirectory, temporaryDirectory } from './index-in-test.ts';

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => removeDirectory(directory));

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RECORDS = 10;
/** Of the topic; nine tenths of it, no whole number, may pass between two readings. */
const TOMBSTONES_KEPT_MS = DAY_MS + 1;

interface Logged {
  event: string;
  lane?: number;
  reason?: string;
}

interface Started {
  readonly index: LmdbLedgerIndex;
  readonly logged: readonly Logged[];
}

const settings = plainKafkaSettings(inject('kafkaBrokers'));
const kafka = createKafka(settings, 'test', { retry: PATIENT_RETRY });

/** A topic with records in each partition, of the given times by the brokers' clocks. */
async function topicOf(partitions: number, timesMs: readonly number[]): Promise<string> {
  const topic = `test-start-${randomUUID()}`;
  const configEntries = [{ name: 'delete.retention.ms', value: String(TOMBSTONES_KEPT_MS) }];
  await makeUsableTopics(kafka, [{ topic, numPartitions: partitions, configEntries }]);
  const producer = kafka.producer();
  await producer.connect();
  for (let partition = 0; partition < partitions; partition += 1) {
    const messages = timesMs.map((timeMs) => ({ value: 'x', partition, timestamp: String(timeMs) }));
    await producer.send({ topic, messages });
  }
  await producer.disconnect();
  return topic;
}

/** @param clockMs what our clock says, when records are applied, too */
async function start(topic: string, laneCount: number, clockMs: number, shortMs = 0): Promise<Started> {
  const logged: Logged[] = [];
  const log = (line: Logged): void => void logged.push(line);
  const clock = { nowMs: () => clockMs, monotonicMs: () => performance.now() };
  const index = new LmdbLedgerIndex({
    stateDirectory: directory,
    laneCount,
    nowMs: () => clockMs,
    onFatal: (error) => {
      throw error;
    },
  });
  const options = { settings, clientId: 'test', topic, laneCount, tombstonesKeptMs: 7 * DAY_MS, shortMs, clock };
  await openLedgerStore({ ...options, index, log: { info: log, warn: log } as never });
  return { index, logged };
}

const POSITION = { token: 'token-1', commit: 1, next: {}, topicIds: {}, epochs: {} };

function applyTo({ index }: Started, lane: number, nextOffset: number, timestampMs: number): void {
  const record = { key: POSITION_KEY, value: positionRecords.encode(POSITION), offset: 0n, timestampMs };
  index.applyBatch(lane, [record], BigInt(nextOffset));
}

const checkpointsOf = ({ index }: Started, laneCount: number): number[] =>
  Array.from({ length: laneCount }, (_, lane) => Number(index.checkpoint(lane).nextOffset));

test('lanes whose checkpoint is of another time of the topic are read again, and no others', async () => {
  const nowMs = Date.now();
  const topic = await topicOf(
    5,
    Array.from({ length: RECORDS }, () => nowMs),
  );
  await withAdmin(kafka, async (admin) => {
    // The client deletes only where it has asked before.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: String(RECORDS - 2) }] });
  });

  const first = await start(topic, 5, nowMs);
  expect(first.logged.map(({ event }) => event)).toEqual(['ledger-store-open']);
  applyTo(first, 0, RECORDS, nowMs);
  applyTo(first, 1, 3, nowMs);
  applyTo(first, 4, 4, nowMs);
  await first.index.close();

  const second = await start(topic, 5, nowMs);
  expect(checkpointsOf(second, 5)).toEqual([RECORDS, 0, 0, 0, 4]);
  expect(second.logged.map(({ lane, reason }) => [lane, reason]).slice(1)).toEqual([
    [1, 'the store has read up to offset 3, but the partition begins at offset 8'],
  ]);
  for (const lane of [0, 4]) second.index.forgetLane(lane);
  applyTo(second, 0, RECORDS, nowMs - HOUR_MS);
  await second.index.close();

  const third = await start(topic, 5, nowMs);
  expect(third.index.checkpoint(0).nextOffset).toBe(0n);
  expect(third.logged.at(-1)?.reason).toContain('newer');
  await third.index.close();
});

test('the start fails while the topic ends before a checkpoint: the store knows more than the ledger, and is kept', async () => {
  const nowMs = Date.now();
  const topic = await topicOf(2, [nowMs, nowMs]);
  const first = await start(topic, 2, nowMs);
  applyTo(first, 1, 7, nowMs);
  await first.index.close();
  const started = start(topic, 2, nowMs);
  await expect(started).rejects.toThrow(
    /partition 1, up to offset 7, but the partition ends at offset 2\. .*lost-internal-topic/,
  );
});

test('after the topic ended before a checkpoint for 15 s, every lane is read again: others may have written over the gap', async () => {
  const nowMs = Date.now();
  const topic = await topicOf(2, [nowMs, nowMs]);
  const first = await start(topic, 2, nowMs);
  for (const lane of [0, 1]) applyTo(first, lane, 2, nowMs);
  await first.index.close();
  const restarted = await start(topic, 2, nowMs, 14_999);
  expect(checkpointsOf(restarted, 2)).toEqual([2, 2]);
  await restarted.index.close();
  const third = await start(topic, 2, nowMs, 15_000);
  expect(checkpointsOf(third, 2)).toEqual([0, 0]);
  expect(third.logged.at(-1)?.reason).toContain('written new records there since');
  await third.index.close();
});

test('a store of a topic that was made again is thrown away, whatever its offsets and times are', async () => {
  const nowMs = Date.now();
  const topic = await topicOf(1, [nowMs, nowMs, nowMs]);
  const first = await start(topic, 1, nowMs);
  applyTo(first, 0, 2, nowMs);
  await first.index.close();

  await deleteTopic(kafka, topic);
  await makeUsableTopics(kafka, [{ topic, numPartitions: 1 }]);
  const second = await start(topic, 1, nowMs);
  expect(second.logged.map(({ event }) => event)).toEqual(['ledger-store-rebuilt']);
  expect(second.logged[0]?.reason).toContain('another ledger');
  await second.index.close();
});

test('a lane not read for longer than deletions are kept is read again, unless nothing came since', async () => {
  const nowMs = Date.now();
  const topic = await topicOf(3, [nowMs, nowMs, nowMs, nowMs]);
  const first = await start(topic, 3, nowMs);
  applyTo(first, 0, 2, nowMs);
  // Behind it only the marker of a transaction would fit.
  applyTo(first, 1, 3, nowMs);
  await first.index.close();

  const soon = await start(topic, 3, nowMs + 0.5 * TOMBSTONES_KEPT_MS);
  expect(soon.logged.map(({ event }) => event)).toEqual(['ledger-store-open']);
  applyTo(soon, 2, 2, nowMs);
  await soon.index.close();

  const late = await start(topic, 3, nowMs + TOMBSTONES_KEPT_MS);
  expect(checkpointsOf(late, 3)).toEqual([0, 3, 2]);
  expect(late.logged.at(-1)).toMatchObject({ event: 'ledger-store-lane-rebuilt', lane: 0 });
  expect(late.logged.at(-1)?.reason).toContain('has not read the ledger for at least 24.0 h');
  await late.index.close();
});

test('a store that a wrong clock calls young is read again all the same, by the brokers’ times', async () => {
  const nowMs = Date.now();
  const topic = await topicOf(1, [nowMs - 2 * DAY_MS, nowMs - 2 * DAY_MS, nowMs - 2 * DAY_MS, nowMs]);
  // Our clock stood two days ahead when the store was written, and is right now.
  const first = await start(topic, 1, nowMs);
  applyTo(first, 0, 1, nowMs - 2 * DAY_MS);
  await first.index.close();

  const second = await start(topic, 1, nowMs);
  expect(second.index.checkpoint(0).nextOffset).toBe(0n);
  expect(second.logged.at(-1)?.reason).toContain('by the brokers');
  await second.index.close();
});
