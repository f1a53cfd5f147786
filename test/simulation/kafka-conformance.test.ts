/** The simulated Kafka is worth as much as it is like the real one: both pass the same tests. */
import { describe, inject } from 'vitest';
import { createKafka, PATIENT_RETRY, type KafkaSettings } from '../../src/producers/kafka-client.ts';
import { Draws } from './draws.ts';
import { testKafka, type KafkaInTest } from './kafka-conformance.ts';
import { SimulatedBroker } from './simulated-broker.ts';
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
});

describe('the real Kafka', () => {
  testKafka(() => REAL);
});

const SIMULATED: KafkaInTest = (() => {
  let broker: SimulatedBroker | null = null;
  return {
    settings: SETTINGS,
    makeTopic: async (topic, partitions) => broker?.createTopic(topic, partitions),
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
  makeTopic: async (topic, partitions) => {
    const admin = createKafka(REAL.settings, topic, { retry: PATIENT_RETRY }).admin();
    await admin.connect();
    await admin.createTopics({
      waitForLeaders: true,
      topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }],
    });
    await admin.disconnect();
  },
  run: (body) => body(),
};
