/** Topics of a test's own on the Kafka that the test run provides, and bounded reading of them. */
import { randomUUID } from 'node:crypto';
import kafkajs, { type Admin, type Kafka, type KafkaMessage } from 'kafkajs';
import { afterAll, beforeAll, inject } from 'vitest';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';

/** A broker on the same machine delivers within some milliseconds; joining a group takes up to a few seconds. */
const READ_MS_MAX = 20_000;

export function connectKafka(): Kafka {
  return new kafkajs.Kafka({
    clientId: 'kafkajs-patches-test',
    brokers: [...inject('kafkaBrokers')],
    logLevel: kafkajs.logLevel.NOTHING,
    // After a commit the coordinator is busy for some milliseconds; the default would wait 300 ms then.
    retry: { initialRetryTime: 5, retries: 20 },
  });
}

/** An admin client for a file's tests, and the names of its requests so far. */
export function useAdmin(kafka: Kafka): { admin: Admin; requests: string[] } {
  const admin = kafka.admin({ metadataMaxAge: 60_000 });
  const requests: string[] = [];
  admin.on(admin.events.REQUEST, ({ payload }) => requests.push(payload.apiName));
  beforeAll(() => admin.connect());
  afterAll(() => admin.disconnect());
  return { admin, requests };
}

/** @returns the name of a fresh topic of one partition */
export async function createTopic(
  kafka: Kafka,
  configEntries: { name: string; value: string }[] = [],
): Promise<string> {
  const topic = `patches-${randomUUID()}`;
  await makeUsableTopics(kafka, [{ topic, numPartitions: 1, configEntries }]);
  return topic;
}

/**
 * Reads a topic of one partition as a read_committed consumer, up to the message with the value `lastValue`.
 * @param fromOffset where to begin, the beginning by default
 */
export async function readCommitted(
  kafka: Kafka,
  topic: string,
  lastValue: Buffer,
  fromOffset = '0',
): Promise<KafkaMessage[]> {
  const consumer = kafka.consumer({ groupId: `patches-${randomUUID()}`, maxWaitTimeInMs: 100 });
  const messages: KafkaMessage[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const deadline = setTimeout(
    () => reject(new Error(`The last message was not read in ${READ_MS_MAX} ms`)),
    READ_MS_MAX,
  );
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    // A broker that has just started is still loading its groups; the consumer begins again then.
    if (!payload.restart) reject(payload.error);
  });
  consumer.on(consumer.events.GROUP_JOIN, () => consumer.seek({ topic, partition: 0, offset: fromOffset }));
  const start = async (): Promise<void> => {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ message }) => {
        messages.push(message);
        if (message.value?.equals(lastValue) === true) resolve(undefined);
      },
    });
  };
  try {
    await Promise.all([start(), promise]);
  } finally {
    clearTimeout(deadline);
    await consumer.disconnect();
  }
  return messages;
}
