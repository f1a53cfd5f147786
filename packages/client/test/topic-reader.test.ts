/** What a reader without a group hands over of what it is brought, whatever lay at those offsets before. Pure. */
import type { ConsumerRunConfig, EachBatchPayload, Kafka } from 'kafkajs';
import { expect, test } from 'vitest';
import { openTopicReader } from '../src/kafka/topic-reader.ts';

type EachBatch = NonNullable<ConsumerRunConfig['eachBatch']>;

/** A reader that has read everything below the offset. @returns what brings it records, and the offsets that it hands over */
async function readerAt(
  high: bigint,
): Promise<{ bring: (end: number, ...offsets: number[]) => Promise<void>; handed: bigint[] }> {
  const handed: bigint[] = [];
  let eachBatch: EachBatch | undefined;
  const nothing = async (): Promise<void> => undefined;
  const consumer = {
    ...{
      events: {},
      on: () => undefined,
      seek: () => undefined,
      connect: nothing,
      subscribe: nothing,
      disconnect: nothing,
    },
    run: async (config: ConsumerRunConfig) => void (eachBatch = config.eachBatch),
  };
  await openTopicReader({ consumer: () => consumer } as unknown as Kafka, {
    topics: ['results'],
    start: { from: 'lows', bounds: [{ topic: 'results', partition: 0, low: high, high }] },
    untilEnd: false,
    groupPrefix: 'test',
    onRecord: ({ offset }) => void handed.push(offset),
  });
  const bring = async (end: number, ...offsets: number[]): Promise<void> => {
    const messages = offsets.map((offset) => ({ offset: String(offset), timestamp: '0', key: null, value: null }));
    const batch = {
      ...{ topic: 'results', partition: 0, messages, highWatermark: String(end) },
      lastOffset: () => String(offsets.at(-1)),
    };
    const rest = { heartbeat: nothing, isRunning: () => true, isStale: () => false, resolveOffset: () => undefined };
    await eachBatch?.({ ...rest, batch } as unknown as EachBatchPayload);
  };
  return { bring, handed };
}

test('what was read already is not handed over again, where a seek takes effect late', async () => {
  const { bring, handed } = await readerAt(5n);
  await bring(7, 3, 4, 5, 6);
  await bring(8, 5, 6, 7);
  expect(handed).toEqual([5n, 6n, 7n]);
});

test('what lies in a topic that was made anew is handed over, though its offsets were read before', async () => {
  const { bring, handed } = await readerAt(5n);
  await bring(2, 0, 1);
  await bring(4, 2, 3);
  await bring(9, 4, 5, 6, 7, 8);
  expect(handed).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n]);
});
