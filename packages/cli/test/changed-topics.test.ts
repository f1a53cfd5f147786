/** Topics that are not as they were made: records that Kafka deletes or gets while a command reads, lost ledgers, added partitions. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readBounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { laneOf } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { retentionRecords, RETENTION_KEY } from '../../../src/ledger/key-retention.ts';
import { schemaRecords } from '../../../src/ledger/ledger-value.ts';
import { changeTopics } from '../../../test/support/topic-settings.ts';
import {
  freshPrefix,
  kafkaOf,
  LANES,
  prepare,
  resultOf,
  ResultWriter,
  sendTo,
  settingsOf,
} from '../../client/test/fixtures.ts';
import { firstRecordsFrom } from '../src/first-records.ts';
import { readKeys } from '../src/ledger.ts';
import { submitDecision } from '../src/operator-decision.ts';
import { findOwnersInResults } from '../src/story/find-keys.ts';
import { readTopics } from '../src/topic-reading.ts';

/** Two of them are no longer one fetch. */
const VALUE = Buffer.alloc(700_000);
const COUNT = 3;
const DAY_MS = 86_400_000;

/** Topics of a test's own. */
async function topicsOf(name: string) {
  const prefix = freshPrefix(name);
  await prepare(prefix);
  return { prefix, kafka: kafkaOf(prefix), settings: settingsOf(prefix), ...topicNames(prefix) };
}

test('a reading to the end ends though no record comes any more, and says how many it did not get', async () => {
  const { deadLetters: topic, kafka, settings } = await topicsOf('deleted');
  for (let sent = 0; sent < COUNT; sent += 1) await sendTo(kafka, topic, [{ key: null, value: VALUE, partition: 1 }]);

  const read: bigint[] = [];
  const unread = await readTopics(settings, {
    topics: [topic],
    onRecord: async ({ offset }) => {
      read.push(offset);
      await deleteRecords(kafka, topic, { partition: 1, offset: String(COUNT) });
    },
  });
  expect(read).toEqual([0n]);
  expect(unread).toEqual([`the last 2 offsets of ${topic}, partition 1: they were deleted meanwhile`]);
}, 30_000);

test('what was written since the bounds were read is not taken for the record that was asked for', async () => {
  const { deadLetters: topic, kafka, prefix } = await topicsOf('written');
  const send = (...partitions: number[]) => {
    const messages = partitions.map((partition) => ({ key: `k-${partition}`, value: 'v', partition }));
    return sendTo(kafka, topic, messages);
  };
  await send(0);
  const bounds = await readBounds(kafka, [topic]);
  await send(0, 1, 2);
  const found = await firstRecordsFrom(kafka, prefix, bounds);
  expect([...found.values()].map(({ offset, partition }) => ({ offset, partition }))).toEqual([
    { offset: 0n, partition: 0 },
  ]);
});

test('that a transaction belongs to no other command is in doubt once results since its calls may be deleted', async () => {
  const { kafka, prefix, results, settings } = await topicsOf('results-gone');
  const writer = await ResultWriter.open(prefix);
  const cutsSince = async (sinceMs: number): Promise<readonly string[]> =>
    (await findOwnersInResults(settings, 'Transaction:1', sinceMs)).cuts;
  const key = 'invoice';
  const partition = laneOf(key, LANES);
  await writer.write(resultOf(key));
  const betweenMs = Date.now() + 1;
  while (Date.now() <= betweenMs) await delay(1);
  await writer.write(resultOf(key));
  const hourAgoMs = betweenMs - 3_600_000;
  expect(await cutsSince(hourAgoMs)).toEqual([]);

  const { high } = (await readBounds(kafka, [results])).find((one) => one.partition === partition) ?? {};
  await deleteRecords(kafka, results, { partition, offset: '1' });
  expect(await cutsSince(hourAgoMs)).toEqual([
    expect.stringMatching(`${results}, partition ${partition}: records since .* may have been deleted`),
  ]);
  // An older record is kept, so no record of that time is deleted.
  expect(await cutsSince(betweenMs + 60_000)).toEqual([]);

  // Nor does an empty partition show that nothing younger was deleted.
  await deleteRecords(kafka, results, { partition, offset: String(high) });
  expect(await cutsSince(hourAgoMs)).toHaveLength(1);
  await writer.close();
});

test('a lane that lost its record of known keys knows none, and none knows more than the topic keeps notes of', async () => {
  const { kafka, ledger, settings } = await topicsOf('known-keys');
  const nowMs = Date.now();
  const daysAgo = (days: number): number => nowMs - days * DAY_MS;
  const record = (lane: number, knownFromMs: number, keptForMs: number) => [
    ...Array.from(schemaRecords(), ([key, value]) => ({ key, value, partition: lane })),
    { key: RETENTION_KEY, value: retentionRecords.encode({ knownFromMs, keptForMs }), partition: lane },
  ];
  // Lane 2 has lost its records.
  const messages = [...record(0, daysAgo(2), 30 * DAY_MS), ...record(1, daysAgo(90), 30 * DAY_MS)];
  await sendTo(kafka, ledger, messages);
  const daysKnown = async (): Promise<number[]> =>
    (await readKeys(settings, new Set())).knownFromMs.map((ms) => Math.round((Date.now() - ms) / DAY_MS));
  // Tombstones are kept for 7 days, as LEDGER_RETENTION was when the topic was created.
  expect(await daysKnown()).toEqual([2, 7, 0]);
  await changeTopics(kafka, [ledger], { 'delete.retention.ms': String(60 * DAY_MS) });
  expect(await daysKnown()).toEqual([2, 30, 0]);
});

test('a decision goes to the lane of its key, and to no partition that somebody added and no lane reads', async () => {
  const { kafka, operatorDecisions: topic, settings } = await topicsOf('added-decisions');
  const count = 2 * LANES;
  await withAdmin(kafka, (admin) => admin.createPartitions({ topicPartitions: [{ topic, count }] }));
  const key =
    Array.from({ length: 50 }, (_, index) => `key-${index}`).find((name) => laneOf(name, count) >= LANES) ?? '';
  const decision = { decision: 'RETRY', expectedRevision: 1, transactionId: null, operator: 'ann', reason: 'x' };
  const partitions: number[] = [];
  await submitDecision(settings, key, decision, 100, ({ partition }) => partitions.push(partition));
  expect(partitions).toEqual([laneOf(key, LANES)]);
});

async function deleteRecords(
  kafka: ReturnType<typeof kafkaOf>,
  topic: string,
  place: { partition: number; offset: string },
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    // kafkajs deletes only in topics that it has met.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [place] });
  });
}
