/** A reader learns of which leader's time its records are, and where the records of that time end now. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Admin, Batch } from 'kafkajs';
import { loadMended } from './without-mend.ts';
import { connectKafka, createTopic, useAdmin } from './local-kafka.ts';

type MadeBatch = new (
  topic: string,
  fetchedOffset: string,
  fetched: { partition: number; highWatermark: string; abortedTransactions: object[]; messages: object[] },
) => Batch;

const kafka = connectKafka();
const { admin, requests } = useAdmin(kafka);

async function createFilledTopic(): Promise<string> {
  const topic = await createTopic(kafka);
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ value: 'one' }, { value: 'two' }, { value: 'three' }] });
  await producer.disconnect();
  return topic;
}

test('one request tells of several topics where leader epochs end; -1 is the end of one that is still to come', async () => {
  const topics = [await createTopic(kafka), await createFilledTopic()];
  const ends = async (leaderEpoch: number): Promise<Map<string, unknown>> => {
    const asked = topics.map((topic) => ({ topic, partitions: [{ partition: 0, leaderEpoch }] }));
    const answers = await admin.fetchEndsOfLeaderEpochs(asked);
    return new Map(answers.map(({ partitions, topic }) => [topic, partitions]));
  };
  await ends(0);
  requests.length = 0;
  const told = await ends(0);
  expect(topics.map((topic) => told.get(topic))).toEqual([
    [{ partition: 0, offset: '0' }],
    [{ partition: 0, offset: '3' }],
  ]);
  expect(requests).toEqual(['OffsetForLeaderEpoch']);
  expect((await ends(1_000_000)).get(String(topics[1]))).toEqual([{ partition: 0, offset: '-1' }]);
});

test('a topic that does not exist is an error that names it, at once', async () => {
  const asked = [{ topic: 'no-such-topic', partitions: [{ partition: 0, leaderEpoch: 0 }] }];
  await expect(admin.fetchEndsOfLeaderEpochs(asked)).rejects.toMatchObject({
    type: 'UNKNOWN_TOPIC_OR_PARTITION',
    resourceName: 'no-such-topic',
  });
});

test('a batch has the leader epoch of the last record fetched, and so has the event of it', async () => {
  const topic = await createFilledTopic();
  const consumer = kafka.consumer({ groupId: `mends-${randomUUID()}`, maxWaitTimeInMs: 100 });
  const event = Promise.withResolvers<number>();
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => event.resolve(payload.leaderEpoch));
  const batch = Promise.withResolvers<number>();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({ eachBatch: async (payload) => batch.resolve(payload.batch.leaderEpoch()) });
  expect([await event.promise, await batch.promise]).toEqual([0, 0]);
  await consumer.disconnect();
});

test('records that are for no reader count, too; those of old message sets have none', () => {
  const MadeBatch = loadMended('src/consumer/batch') as MadeBatch;
  const record = (offset: string, partitionLeaderEpoch: number, isControlRecord: boolean): object => ({
    ...{ offset, isControlRecord },
    batchContext: { partitionLeaderEpoch, producerId: '1', inTransaction: false },
  });
  const epochOf = (...messages: object[]): number => {
    const fetched = { partition: 0, highWatermark: '9', abortedTransactions: [], messages };
    return new MadeBatch('topic', '0', fetched).leaderEpoch();
  };
  expect(epochOf(record('0', 3, false), record('1', 4, true))).toBe(4);
  expect(epochOf({ offset: '0' })).toBe(-1);
  expect(epochOf()).toBe(-1);
});

test('answers of several leaders are one answer for their topic', async () => {
  const endsOfLeaderEpochs = loadMended('src/admin/endsOfLeaderEpochs') as (
    cluster: object,
  ) => Admin['fetchEndsOfLeaderEpochs'];
  const leaders = [1, 2, 1];
  const broker = (nodeId: number): object => ({
    offsetForLeaderEpoch: async ({ topics }: { topics: Parameters<Admin['fetchEndsOfLeaderEpochs']>[0] }) => ({
      responses: topics.map(({ partitions, topic }) => ({
        topic,
        partitions: partitions.map(({ partition }) => ({ partition, offset: `${nodeId}0${partition}` })),
      })),
    }),
  });
  const ends = endsOfLeaderEpochs({
    addMultipleTargetTopics: async () => undefined,
    refreshMetadataIfNecessary: async () => undefined,
    findLeaderForPartitions: (_topic: string, partitions: readonly number[]) =>
      Object.groupBy(partitions, (partition) => leaders[partition] ?? 0),
    findBroker: async ({ nodeId }: { nodeId: string }) => broker(Number(nodeId)),
  });
  const partitions = leaders.map((_leader, partition) => ({ partition, leaderEpoch: 0 }));
  const [answer, ...others] = await ends([{ topic: 'payments', partitions }]);
  expect(others).toEqual([]);
  expect(answer?.partitions.toSorted((left, right) => left.partition - right.partition)).toEqual([
    { partition: 0, offset: '100' },
    { partition: 1, offset: '201' },
    { partition: 2, offset: '102' },
  ]);
});
