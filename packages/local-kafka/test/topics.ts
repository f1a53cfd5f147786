/** Topics of an engine, as any client of Kafka uses them. */
import { Kafka, logLevel } from 'kafkajs';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import type { Engine } from '../src/start.ts';

const ALL_REPLICAS = -1;

export function clientOf(engine: Engine): Kafka {
  return new Kafka({
    brokers: engine.brokers,
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 100, retries: 50 },
  });
}

export async function publish(kafka: Kafka, topic: string, value: string): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic, acks: ALL_REPLICAS, messages: [{ value }] });
  await producer.disconnect();
}

export async function highOffset(kafka: Kafka, topic: string): Promise<string | undefined> {
  const admin = kafka.admin();
  await admin.connect();
  const [partition] = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  return partition?.high;
}

export async function makeTopic(kafka: Kafka, topic: string): Promise<void> {
  await makeUsableTopics(kafka, [{ topic, numPartitions: 1 }]);
}
