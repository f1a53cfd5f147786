/** A topic that is deleted and created again under its name is another topic: its id differs. */
import { expect, test } from 'vitest';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import { connectKafka, createTopic, useAdmin } from './local-kafka.ts';

const kafka = connectKafka();
const { admin } = useAdmin(kafka);

test('ids of topics read as Kafka prints them, and change when a topic is created again; unknown topics are left out', async () => {
  const [topic, other] = [await createTopic(kafka), await createTopic(kafka)];
  const idOf = async (name: string): Promise<string | null | undefined> =>
    (await admin.fetchTopicIds({ topics: [topic, other, 'no-such-topic'] })).find((told) => told.topic === name)
      ?.topicId;
  const [first, otherId] = [await idOf(topic), await idOf(other)];
  expect(first).toMatch(/^[\w-]{22}$/);
  expect(otherId).toMatch(/^[\w-]{22}$/);
  expect(otherId).not.toBe(first);
  expect(await idOf(topic)).toBe(first);
  expect(await idOf('no-such-topic')).toBeUndefined();

  await admin.deleteTopics({ topics: [topic] });
  await expect.poll(() => idOf(topic), { timeout: 10_000 }).toBeUndefined();
  await makeUsableTopics(kafka, [{ topic, numPartitions: 1 }]);
  await expect.poll(() => idOf(topic), { timeout: 10_000 }).toMatch(/^[\w-]{22}$/);
  expect(await idOf(topic)).not.toBe(first);
  expect(await idOf(other)).toBe(otherId);
});
