/** Several topics are asked about at once, and the partitions that a client knows of are not looked up for each question. */
import { expect, test } from 'vitest';
import { connectKafka, createTopic, useAdmin } from './local-kafka.ts';

const kafka = connectKafka();
const { admin, requests } = useAdmin(kafka);

test('one request tells where the partitions of several topics end, and one where they begin', async () => {
  const topics = [await createTopic(kafka), await createTopic(kafka)];
  const told = async (fromBeginning: boolean): Promise<Map<string, unknown>> => {
    const answers = await admin.fetchOffsetsOfTopics({ topics, fromBeginning });
    return new Map(answers.map(({ partitions, topic }) => [topic, partitions]));
  };
  const at = (offset: string): unknown => [{ partition: 0, offset }];
  await told(false);
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: String(topics[1]), messages: [{ value: 'one' }, { value: 'two' }, { value: 'three' }] });
  await producer.disconnect();
  await admin.deleteTopicRecords({ topic: String(topics[1]), partitions: [{ partition: 0, offset: '1' }] });

  requests.length = 0;
  expect(await told(false)).toEqual(
    new Map([
      [topics[0], at('0')],
      [topics[1], at('3')],
    ]),
  );
  expect(await told(true)).toEqual(
    new Map([
      [topics[0], at('0')],
      [topics[1], at('1')],
    ]),
  );
  expect(requests).toEqual(['ListOffsets', 'ListOffsets']);
});

test('the first record since an instant is told apart from none', async () => {
  const topic = await createTopic(kafka);
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [1_000, 3_000].map((ms) => ({ value: 'x', timestamp: String(ms) })) });
  await producer.disconnect();
  const since = async (fromTimestamp: number): Promise<string | undefined> =>
    (await admin.fetchOffsetsOfTopics({ topics: [topic], fromTimestamp }))[0]?.partitions[0]?.offset;
  expect([await since(2_000), await since(4_000)]).toEqual(['1', '-1']);
});

test('a topic that does not exist is an error that names it, at once', async () => {
  const topic = await createTopic(kafka);
  await expect(admin.fetchOffsetsOfTopics({ topics: [topic, 'no-such-topic'] })).rejects.toMatchObject({
    type: 'UNKNOWN_TOPIC_OR_PARTITION',
    resourceName: 'no-such-topic',
  });
});
