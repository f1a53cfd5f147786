/** The simulated Kafka is worth as much as it is like the real one: both pass the same tests. */
import { describe, inject } from 'vitest';
import { createKafka, PATIENT_RETRY, type KafkaSettings } from '../../src/producers/kafka-client.ts';
import { Draws } from './draws.ts';
import { testKafka } from './kafka-conformance.ts';
import { testTopics } from './kafka-conformance-topics.ts';
import type { KafkaInTest } from './kafka-in-test.ts';
import { SimulatedBroker, type TopicConfig } from './simulated-broker.ts';
import { installKafka } from './simulated-kafkajs.ts';
import { SimulatedNetwork } from './simulated-network.ts';
import { VirtualTime } from './virtual-time.ts';

const SETTINGS: KafkaSettings = {
  KAFKA_BROKERS: ['simulated:9092'],
  KAFKA_SSL: false,
  KAFKA_SSL_CA_FILE: null,
  KAFKA_SSL_CERT_FILE: null,
  KAFKA_SSL_KEY_FILE: null,
  KAFKA_SASL_MECHANISM: null,
  KAFKA_SASL_USERNAME: null,
  KAFKA_SASL_PASSWORD: null,
};
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
    return { ...SETTINGS, KAFKA_BROKERS: inject('kafkaBrokers') };
  },
  makeTopic: async (topic, partitions, configuration = {}) => {
    const admin = createKafka(REAL.settings, topic, { retry: PATIENT_RETRY }).admin();
    await admin.connect();
    await admin.createTopics({
      waitForLeaders: true,
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor: 1,
          configEntries: Object.entries(configuration).map(([name, value]) => ({ name, value })),
        },
      ],
    });
    await admin.disconnect();
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
