/**
 * A reader learns of which leader's time its records are, and where the records of that time end now. Against a broker:
 * proofs/simulation/kafka-conformance.test.ts.
 */
import { expect, test } from 'vitest';
import type { Admin, Batch } from 'kafkajs';
import { loadPatched } from './patched-module.ts';
import { connectKafka, useAdmin } from './local-kafka.ts';

type MadeBatch = new (
  topic: string,
  fetchedOffset: string,
  fetched: { partition: number; highWatermark: string; abortedTransactions: object[]; messages: object[] },
) => Batch;

const kafka = connectKafka();
const { admin } = useAdmin(kafka);

test('a topic that does not exist is an error that names it, at once', async () => {
  const asked = [{ topic: 'no-such-topic', partitions: [{ partition: 0, leaderEpoch: 0 }] }];
  await expect(admin.fetchEndsOfLeaderEpochs(asked)).rejects.toMatchObject({
    type: 'UNKNOWN_TOPIC_OR_PARTITION',
    resourceName: 'no-such-topic',
  });
});

test('records that are for no reader count, too; those of old message sets have none', () => {
  const MadeBatch = loadPatched('src/consumer/batch') as MadeBatch;
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
  const endsOfLeaderEpochs = loadPatched('src/admin/endsOfLeaderEpochs') as (
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
