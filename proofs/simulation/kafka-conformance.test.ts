/** The simulated Kafka is useful only if it behaves like the real one, so both must pass the same tests. */
import { describe, inject } from 'vitest';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { Draws } from './draws.ts';
import { testKafka } from './kafka-conformance.ts';
import { testTopics } from './kafka-conformance-topics.ts';
import type { KafkaInTest } from './kafka-in-test.ts';
import { plainKafkaSettings } from '../../test/support/kafka-settings.ts';
import { SimulatedBroker, type TopicConfig } from './simulated-broker.ts';
import { installKafka } from './simulated-kafkajs.ts';
import { SimulatedNetwork } from './simulated-network.ts';
import { VirtualTime } from './virtual-time.ts';

const SETTINGS = plainKafkaSettings(['simulated:9092']);
const SIMULATED_MS_MAX = 600_000;

describe('the simulated Kafka', () => {
  testKafka(() => SIMULATED);
  testTopics(() => SIMULATED);
});

describe('the real Kafka', () => {
  testKafka(() => REAL);
  testTopics(() => REAL);
});

const SIMULATED: KafkaInTest = (() => {
  let broker: SimulatedBroker | null = null;
  return {
    settings: SETTINGS,
    makeTopic: async (topic, partitions, configuration = {}) =>
      broker?.createTopic(topic, partitions, configOf(configuration)),
    compact: (topic) => broker?.compact(topic),
    run: async (body) => {
      const time = new VirtualTime();
      broker = new SimulatedBroker(time, new Draws(1, 'broker'));
      const network = new SimulatedNetwork(time, new Draws(1, 'network'), null);
      const restore = [time.install(new Draws(1, 'ids')), installKafka(broker, network)];
      let isOver = false;
      const ended = body().finally(() => (isOver = true));
      ended.catch(() => undefined);
      try {
        await time.runUntil(() => isOver, time.nowMs + SIMULATED_MS_MAX);
      } finally {
        for (const back of restore) back();
      }
      await ended;
    },
  };
})();

const REAL: KafkaInTest = {
  get settings() {
    return plainKafkaSettings(inject('kafkaBrokers'));
  },
  makeTopic: async (topic, partitions, configuration = {}) => {
    const kafka = createKafka(REAL.settings, topic, { retry: PATIENT_RETRY });
    const configEntries = Object.entries(configuration).map(([name, value]) => ({ name, value }));
    const topics = [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }];
    await makeUsableTopics(kafka, topics);
  },
  compact: () => undefined,
  run: (body) => body(),
};

function configOf(configuration: Readonly<Record<string, string>>): Partial<TopicConfig> {
  const maxMessageBytes = configuration['max.message.bytes'];
  const deleteRetentionMs = configuration['delete.retention.ms'];
  return {
    ...(maxMessageBytes === undefined ? {} : { maxMessageBytes: Number(maxMessageBytes) }),
    ...(deleteRetentionMs === undefined ? {} : { deleteRetentionMs: Number(deleteRetentionMs) }),
    timestampType: configuration['message.timestamp.type'] === 'LogAppendTime' ? 'LogAppendTime' : 'CreateTime',
  };
}
