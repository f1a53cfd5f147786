/** A reading to the end whose last records are deleted meanwhile. */
import { expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { topicNames } from 'payment-processor-contract/topics';
import { freshPrefix, kafkaOf, prepare, settingsOf } from '../../client/test/fixtures.ts';
import { readTopics } from '../src/topic-reading.ts';

/** Two of them are no longer one fetch. */
const VALUE = Buffer.alloc(700_000);
const COUNT = 3;

test('ends though no record comes any more, and says how many it did not get', async () => {
  const prefix = freshPrefix('deleted');
  await prepare(prefix);
  const topic = topicNames(prefix).deadLetters;
  const producer = kafkaOf(prefix).producer();
  await producer.connect();
  for (let sent = 0; sent < COUNT; sent += 1)
    await producer.send({ topic, messages: [{ key: null, value: VALUE, partition: 1 }] });
  await producer.disconnect();

  const read: bigint[] = [];
  const unread = await readTopics(settingsOf(prefix), {
    topics: [topic],
    onRecord: async ({ offset }) => {
      read.push(offset);
      const partitions = [{ partition: 1, offset: String(COUNT) }];
      await withAdmin(kafkaOf(prefix), async (admin) => {
        // kafkajs deletes only in topics that it has met.
        await admin.fetchTopicOffsets(topic);
        await admin.deleteTopicRecords({ topic, partitions });
      });
    },
  });
  expect(read).toEqual([0n]);
  expect(unread).toEqual([`${topic}, partition 1: its last 2 offsets were deleted while it was read`]);
}, 30_000);
