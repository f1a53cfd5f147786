/** Each lane's checkpoint is held against the ledger topic; what does not fit is read from the beginning. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { readSomeSettings } from '../../src/config.ts';
import { openLedgerStore } from '../../src/consumers/ledger-start.ts';
import { createKafka, KAFKA_SETTING_NAMES, PATIENT_RETRY } from '../../src/producers/kafka-client.ts';
import { withAdmin } from '../../src/producers/admin-session.ts';
import { LmdbLedgerIndex } from '../../src/ledger/lmdb-ledger-index.ts';
import { removeDirectory, temporaryDirectory } from './index-in-test.ts';

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => removeDirectory(directory));

const HOUR_MS = 3_600_000;
const RECORDS = 10;

interface Logged {
  event: string;
  lane?: number;
  reason?: string;
}

test('lanes whose checkpoint is of another time of the topic are read again, and no others', async () => {
  const read = readSomeSettings({ KAFKA_BROKERS: inject('kafkaBrokers').join(',') }, KAFKA_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const topic = `test-start-${randomUUID()}`;
  const kafka = createKafka(read.config, 'test', { retry: PATIENT_RETRY });
  await withAdmin(kafka, (admin) =>
    admin.createTopics({ topics: [{ topic, numPartitions: 5 }], waitForLeaders: true }),
  );
  const producer = kafka.producer();
  await producer.connect();
  const nowMs = Date.now();
  for (let partition = 0; partition < 5; partition += 1) {
    const messages = Array.from({ length: RECORDS }, () => ({ value: 'x', partition, timestamp: String(nowMs) }));
    await producer.send({ topic, messages });
  }
  await producer.disconnect();
  await withAdmin(kafka, async (admin) => {
    // The client deletes only where it has asked before.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: String(RECORDS - 2) }] });
  });

  async function start(): Promise<{ index: LmdbLedgerIndex; logged: Logged[] }> {
    const logged: Logged[] = [];
    const log = (line: Logged): void => void logged.push(line);
    const index = new LmdbLedgerIndex({
      stateDirectory: directory,
      laneCount: 5,
      restingSince: () => null,
      onFatal: (error) => {
        throw error;
      },
    });
    const options = { settings: read.ok ? read.config : (undefined as never), clientId: 'test', topic, laneCount: 5 };
    await openLedgerStore({ ...options, index, log: { info: log, warn: log } as never });
    return { index, logged };
  }
  const applyTo = (index: LmdbLedgerIndex, lane: number, nextOffset: number, timestampMs: number): void => {
    const record = { key: '!owner', value: Buffer.from('{}'), state: null, offset: 0n, timestampMs };
    index.applyBatch(lane, [record], BigInt(nextOffset));
  };

  const first = await start();
  expect(first.logged.map(({ event }) => event)).toEqual(['ledger-store-open']);
  applyTo(first.index, 0, RECORDS, nowMs);
  applyTo(first.index, 1, 3, nowMs);
  applyTo(first.index, 2, RECORDS + 5, nowMs);
  applyTo(first.index, 4, 4, nowMs);
  await first.index.close();

  const second = await start();
  expect(Array.from({ length: 5 }, (_, lane) => Number(second.index.checkpoint(lane).nextOffset))).toEqual([
    RECORDS,
    0,
    0,
    0,
    4,
  ]);
  expect(second.logged.map(({ lane, reason }) => [lane, reason]).slice(1)).toEqual([
    [1, 'read up to 3, but it begins at 8'],
    [2, 'read up to 15, but it ends at 10'],
  ]);
  for (const lane of [0, 4]) second.index.forgetLane(lane);
  applyTo(second.index, 0, RECORDS, nowMs - HOUR_MS);
  await second.index.close();

  const third = await start();
  expect(third.index.checkpoint(0).nextOffset).toBe(0n);
  expect(third.logged.at(-1)?.reason).toContain('younger');
  await third.index.close();
});
