/**
 * kafkajs over simulated brokers: as much of its interface as the processor and its readers use, with kafkajs' guarantees and
 * no more. A client belongs to the process in whose step it was made.
 */
import kafkajs from 'kafkajs';
import { CREATE_CLUSTER } from '../../src/producers/kafka-cluster.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import { SimulatedConsumer, type ConsumerSettings } from './simulated-consumer.ts';
import { SimulatedCluster } from './simulated-cluster.ts';
import { simulatedAdmin } from './simulated-admin.ts';
import type { NewRecord } from './simulated-log.ts';
import type { SimulatedNetwork } from './simulated-network.ts';
import type { Owner } from './virtual-time.ts';

const CREATE = Symbol(CREATE_CLUSTER);

/** Replaces kafkajs by the simulated client. @returns a function that restores kafkajs */
export function installKafka(broker: SimulatedBroker, network: SimulatedNetwork): () => void {
  const replaced = kafkajs as unknown as { Kafka: unknown };
  const real = replaced.Kafka;
  replaced.Kafka = class {
    readonly #owner = network.time.current;
    readonly #clientId: string;
    readonly [CREATE] = (): SimulatedCluster => new SimulatedCluster(broker, network, this.#owner);
    constructor({ clientId }: { clientId: string }) {
      this.#clientId = clientId;
    }
    consumer(settings: Omit<ConsumerSettings, 'clientId'>): SimulatedConsumer {
      return new SimulatedConsumer(broker, network, this.#owner, { ...settings, clientId: this.#clientId });
    }
    producer(): object {
      return plainProducerOf(broker, network, this.#owner);
    }
    admin(): object {
      return simulatedAdmin(broker, network, this.#owner);
    }
  };
  return () => void (replaced.Kafka = real);
}

interface GivenMessage {
  readonly partition: number;
  readonly key: string | Buffer | null;
  readonly value: string | Buffer | null;
  readonly timestamp?: string;
  readonly headers?: Readonly<Record<string, string | Buffer | null | (string | Buffer | null)[]>>;
}

interface TopicMessages {
  readonly topic: string;
  readonly messages: readonly GivenMessage[];
}

/** A producer without transactions, for tests: each record names its partition. */
function plainProducerOf(broker: SimulatedBroker, network: SimulatedNetwork, owner: Owner | null): object {
  return {
    connect: async () => undefined,
    send: ({ messages, topic }: TopicMessages) =>
      network.request(owner, 'send', () => {
        for (const message of messages) broker.append(topic, message.partition, recordOf(message));
      }),
    disconnect: async () => undefined,
  };
}

/** A record as kafkajs writes it: with the client's time. Throws if a header is neither text, bytes nor null. */
function recordOf({ headers = {}, key, timestamp, value }: GivenMessage): NewRecord {
  const stored = Object.entries(headers).flatMap(([name, given]) =>
    [given].flat().map((text): [string, Buffer | null] => [name, text === null ? null : Buffer.from(text)]),
  );
  return {
    key: key === null ? null : Buffer.from(key),
    value: typeof value === 'string' ? Buffer.from(value) : value,
    headers: stored,
    timestampMs: timestamp === undefined ? Date.now() : Number(timestamp),
  };
}
