/** Records that Kafka deletes, or gets, while a command reads. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readBounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { laneOf } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
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
import { findOwnersInResults } from '../src/story/find-keys.ts';
import { readTopics } from '../src/topic-reading.ts';

/** Two of them are no longer one fetch. */
const VALUE = Buffer.alloc(700_000);
const COUNT = 3;

test('a reading to the end ends though no record comes any more, and says how many it did not get', async () => {
  const prefix = freshPrefix('deleted');
  await prepare(prefix);
  const topic = topicNames(prefix).deadLetters;
  for (let sent = 0; sent < COUNT; sent += 1)
    await sendTo(kafkaOf(prefix), topic, [{ key: null, value: VALUE, partition: 1 }]);

  const read: bigint[] = [];
  const unread = await readTopics(settingsOf(prefix), {
    topics: [topic],
    onRecord: async ({ offset }) => {
      read.push(offset);
      await deleteRecords(prefix, topic, [{ partition: 1, offset: String(COUNT) }]);
    },
  });
  expect(read).toEqual([0n]);
  expect(unread).toEqual([`the last 2 offsets of ${topic}, partition 1: they were deleted meanwhile`]);
}, 30_000);

test('what was written since the bounds were read is not taken for the record that was asked for', async () => {
  const prefix = freshPrefix('written');
  await prepare(prefix);
  const topic = topicNames(prefix).deadLetters;
  const send = (...partitions: number[]) => {
    const messages = partitions.map((partition) => ({ key: `k-${partition}`, value: 'v', partition }));
    return sendTo(kafkaOf(prefix), topic, messages);
  };
  await send(0);
  const bounds = await readBounds(kafkaOf(prefix), [topic]);
  await send(0, 1, 2);
  const found = await firstRecordsFrom(kafkaOf(prefix), prefix, bounds);
  expect([...found.values()].map(({ offset, partition }) => ({ offset, partition }))).toEqual([
    { offset: 0n, partition: 0 },
  ]);
});

test('that a transaction belongs to no other command is in doubt once results since its calls may be deleted', async () => {
  const prefix = freshPrefix('results-gone');
  await prepare(prefix);
  const { results } = topicNames(prefix);
  const writer = await ResultWriter.open(prefix);
  const cutsSince = async (sinceMs: number): Promise<readonly string[]> =>
    (await findOwnersInResults(settingsOf(prefix), 'Transaction:1', sinceMs)).cuts;
  const key = 'invoice';
  const lane = laneOf(key, LANES);
  await writer.write(resultOf(key));
  const betweenMs = Date.now() + 1;
  while (Date.now() <= betweenMs) await delay(1);
  await writer.write(resultOf(key));
  const hourAgoMs = betweenMs - 3_600_000;
  expect(await cutsSince(hourAgoMs)).toEqual([]);

  const { high } = (await readBounds(kafkaOf(prefix), [results])).find(({ partition }) => partition === lane) ?? {};
  await deleteRecords(prefix, results, [{ partition: lane, offset: '1' }]);
  expect(await cutsSince(hourAgoMs)).toEqual([
    expect.stringMatching(`${results}, partition ${lane}: records since .* may have been deleted`),
  ]);
  // An older record is kept, so no record of that time is deleted.
  expect(await cutsSince(betweenMs + 60_000)).toEqual([]);

  // Nor does an empty partition show that nothing younger was deleted.
  await deleteRecords(prefix, results, [{ partition: lane, offset: String(high) }]);
  expect(await cutsSince(hourAgoMs)).toHaveLength(1);
  await writer.close();
});

async function deleteRecords(
  prefix: string,
  topic: string,
  partitions: { partition: number; offset: string }[],
): Promise<void> {
  await withAdmin(kafkaOf(prefix), async (admin) => {
    // kafkajs deletes only in topics that it has met.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions });
  });
}
