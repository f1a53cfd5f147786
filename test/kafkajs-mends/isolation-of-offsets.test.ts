/** A partition's end is given as asked: the last record written, or the last that a read_committed consumer may read. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { connectKafka, createTopic, useAdmin } from './local-kafka.ts';

const READ_UNCOMMITTED = 0;
const READ_COMMITTED = 1;

const kafka = connectKafka();
const { admin } = useAdmin(kafka);

test('an open transaction lies between the two ends, until it is over', async () => {
  const topic = await createTopic(kafka);
  const producer = kafka.producer({ transactionalId: randomUUID(), idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const ends = async (): Promise<(string | undefined)[]> => {
    const asked = [undefined, READ_COMMITTED, READ_UNCOMMITTED].map((isolationLevel) =>
      admin.fetchOffsetsOfTopics({ topics: [topic], ...(isolationLevel === undefined ? {} : { isolationLevel }) }),
    );
    return (await Promise.all(asked)).map(([told]) => told?.partitions[0]?.offset);
  };
  try {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value: 'one' }, { value: 'two' }] });
    expect(await ends()).toEqual(['0', '0', '2']);
    await transaction.commit();
    // The two records and the marker of the commit.
    await expect.poll(ends, { timeout: 10_000 }).toEqual(['3', '3', '3']);
  } finally {
    await producer.disconnect();
  }
});
