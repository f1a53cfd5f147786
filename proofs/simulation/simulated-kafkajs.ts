/**
 * kafkajs over simulated brokers: as much of its interface as the processor and its readers use, with what it does and
 * does not promise. A client belongs to the process in whose step it was made.
 */
import kafkajs from 'kafkajs';
import { BrokerError } from './broker-error.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import { SimulatedConsumer, type ConsumerSettings } from './simulated-consumer.ts';
import { simulatedAdmin } from './simulated-admin.ts';
import type { NewRecord } from './simulated-log.ts';
import type { SimulatedNetwork } from './simulated-network.ts';
import type { Owner } from './virtual-time.ts';

/** kafkajs waits like this between retries of an error that may pass. */
const RETRIES = 15;
const RETRY_FIRST_MS = 3;
const RETRY_MAX_MS = 500;
const RETRY_FACTOR = 1.6;
/** kafkajs' own, unless it is given one. */
const TRANSACTION_TIMEOUT_MS = 60_000;

/** Puts the simulated client in kafkajs' place. @returns what puts kafkajs back */
export function installKafka(broker: SimulatedBroker, network: SimulatedNetwork): () => void {
  const replaced = kafkajs as unknown as { Kafka: unknown };
  const real = replaced.Kafka;
  replaced.Kafka = class {
    readonly #owner = network.time.current;
    readonly #clientId: string;
    constructor({ clientId }: { clientId: string }) {
      this.#clientId = clientId;
    }
    consumer(settings: Omit<ConsumerSettings, 'clientId'>): SimulatedConsumer {
      return new SimulatedConsumer(broker, network, this.#owner, { ...settings, clientId: this.#clientId });
    }
    producer(settings?: ProducerSettings): object {
      if (settings !== undefined) return producerOf(broker, network, this.#owner, settings);
      return plainProducerOf(broker, network, this.#owner);
    }
    admin(): object {
      return simulatedAdmin(broker, network, this.#owner);
    }
  };
  return () => void (replaced.Kafka = real);
}

interface ProducerSettings {
  readonly transactionalId: string;
  readonly transactionTimeout?: number;
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

/** One without transactions, for tests: each record has its partition. */
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

function producerOf(
  broker: SimulatedBroker,
  network: SimulatedNetwork,
  owner: Owner | null,
  settings: ProducerSettings,
): object {
  const { transactionalId, transactionTimeout = TRANSACTION_TIMEOUT_MS } = settings;
  let epoch: number | null = null;
  let isDisconnected = false;
  const request = async <Value>(point: string, answer: () => Value): Promise<Value> => {
    let waitMs = RETRY_FIRST_MS;
    for (let retry = 0; ; retry += 1) {
      if (isDisconnected) throw new Error('the producer is disconnected');
      try {
        return await network.request(owner, point, answer);
      } catch (error) {
        if (!(error instanceof BrokerError) || !error.retriable || retry === RETRIES) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      waitMs = Math.min(waitMs * RETRY_FACTOR, RETRY_MAX_MS);
    }
  };
  const transaction = (current: number, written: { isAny: boolean }): object => {
    // What goes wrong shows when messages are sent.
    const ready = async (
      topicData: readonly { topic: string; partitions: readonly { partition: number }[] }[],
    ): Promise<void> => {
      const added = topicData.flatMap(({ partitions, topic }) =>
        partitions.map(({ partition }) => ({ topic, partition })),
      );
      const add = (): void => broker.add(transactionalId, current, added, transactionTimeout);
      await request('add', add).then(
        () => (written.isAny = true),
        () => undefined,
      );
    };
    // Partitions are led by different brokers: each is written at its own time, or not.
    const sendBatch = async ({ topicMessages }: { topicMessages: readonly TopicMessages[] }): Promise<object[]> => {
      const parts = topicMessages.flatMap(({ topic, messages }) =>
        [...Map.groupBy(messages, ({ partition }) => partition)].map(([partition, given]) => ({
          topic,
          partition,
          given,
        })),
      );
      return Promise.all(
        parts.map(async ({ topic, partition, given }) => {
          const records = given.map(recordOf);
          written.isAny = true;
          const answer = await request(`produce ${nameOf(topic)}`, () =>
            broker.produce(transactionalId, current, { topic, partition }, records, transactionTimeout),
          );
          return { topicName: topic, partition, errorCode: 0, ...answer };
        }),
      );
    };
    return {
      ready,
      sendBatch,
      send: (batch: TopicMessages) => sendBatch({ topicMessages: [batch] }),
      // Sent once: its outcome stays open when the answer is lost.
      commit: () => request('commit', () => broker.end(transactionalId, current, 'committed')),
      // Of nothing the broker does not hear.
      abort: async () => {
        if (written.isAny) await request('abort', () => broker.end(transactionalId, current, 'aborted'));
      },
    };
  };
  return {
    connect: () => request('connect', () => undefined),
    transaction: async () =>
      transaction((epoch ??= await request('initialise', () => broker.initialise(transactionalId))), { isAny: false }),
    disconnect: async () => void (isDisconnected = true),
  };
}

/** As kafkajs writes it: with the time of the client, and an error for a header that is neither text, bytes nor null. */
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

/** For counting crashes by point: a topic by what it is for. */
function nameOf(topic: string): string {
  return topic.split('.').slice(1, 3).join('.');
}
