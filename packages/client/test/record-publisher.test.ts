/**
 * What a publication that fails says of its record: each try is judged, not the last alone. The producer is kafkajs' own;
 * the brokers are in memory, and end their tries as a test says.
 */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { beforeEach, describe, expect, test } from 'vitest';
import { PublishError, RecordPublisher } from '../src/kafka/record-publisher.ts';
import { InMemoryCluster, TOPIC, type ProduceRequest } from './in-memory-cluster.ts';

const require = createRequire(import.meta.url);
const createProducer = require('kafkajs/src/producer') as (options: object) => ReturnType<Kafka['producer']>;
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error;
};
const { parse } = require('kafkajs/src/protocol/requests/produce/v7/response') as {
  parse: (answer: object) => Promise<never>;
};
const { KafkaJSConnectionClosedError, KafkaJSRequestTimeoutError } = require('kafkajs/src/errors') as Record<
  'KafkaJSConnectionClosedError' | 'KafkaJSRequestTimeoutError',
  new (message: string) => Error
>;

const TOPIC_AUTHORIZATION_FAILED = 29;
const MESSAGE_TOO_LARGE = 10;
const LEADER_NOT_AVAILABLE = 5;
const NOT_LEADER_FOR_PARTITION = 6;
const RETRY = { initialRetryTime: 1, maxRetryTime: 2, retries: 3, factor: 0.2, multiplier: 1.6 };
/** Of partition 0 or 1, whichever its murmur2 says. */
const RECORD = { topic: TOPIC, key: Buffer.from('key'), value: Buffer.from('paid'), headers: {} };

type Write = () => Promise<unknown>;
/** How one Produce request ends. */
type Try = (write: Write, request: ProduceRequest) => Promise<unknown>;

const written: Try = (write) => write();
const writtenAndNotAnswered: Try = async (write) => {
  await write();
  throw new KafkaJSRequestTimeoutError('Request Produce timed out');
};
const cut: Try = async () => {
  throw new KafkaJSConnectionClosedError('Closed connection');
};
const leftOut: Try = async (write) => {
  await write();
  return parse({ topics: [] });
};
const refused =
  (errorCode: number): Try =>
  () =>
    parse({ topics: [{ topicName: TOPIC, partitions: [{ partition: 0, errorCode, baseOffset: '-1' }] }] });

class ScriptedCluster extends InMemoryCluster {
  tries: Try[] = [];
  produced = 0;
  /** What asking who leads comes to. */
  refresh: () => Promise<void> = async () => undefined;

  override async findBroker(node: { nodeId: string | number }): ReturnType<InMemoryCluster['findBroker']> {
    const broker = await super.findBroker(node);
    const produce = (request: ProduceRequest): Promise<unknown> => {
      this.produced += 1;
      const next = this.tries.length > 1 ? this.tries.shift() : this.tries[0];
      return (next ?? written)(() => broker.produce(request), request);
    };
    return Object.create(broker, { produce: { value: produce } }) as typeof broker;
  }

  override async refreshMetadata(): Promise<void> {
    await this.refresh();
  }

  async connect(): Promise<void> {
    // It is there.
  }

  async disconnect(): Promise<void> {
    // Nothing is held.
  }

  removeBroker(): void {
    // It is found again.
  }

  log2(): string[] {
    return [...this.log(0), ...this.log(1)].map(String);
  }
}

const ignore = (): void => undefined;
const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, namespace: () => logger };

let cluster: ScriptedCluster;
let publisher: RecordPublisher;

beforeEach(async () => {
  cluster = new ScriptedCluster();
  const admin = {
    connect: async () => undefined,
    disconnect: async () => undefined,
    listTopics: async () => [TOPIC],
    fetchTopicMetadata: async () => ({ topics: [{ name: TOPIC, partitions: [{}, {}] }] }),
  };
  const kafka = { admin: () => admin, producer: (options: object) => createProducer({ cluster, logger, ...options }) };
  publisher = await RecordPublisher.connect(kafka as unknown as Kafka, [TOPIC], RETRY);
});

async function failureOf(...tries: readonly Try[]): Promise<PublishError> {
  cluster.tries = [...tries];
  const thrown: unknown = await publisher.publish(RECORD).catch((error: unknown) => error);
  if (thrown instanceof PublishError) return thrown;
  throw new Error(`no PublishError: ${String(thrown)}`);
}

describe('a publication', () => {
  test('that a broker refuses at the first try was not written', async () => {
    expect(await failureOf(refused(TOPIC_AUTHORIZATION_FAILED))).toMatchObject({ mayBeWritten: false });
    expect(await failureOf(refused(MESSAGE_TOO_LARGE))).toMatchObject({ mayBeWritten: false });
    expect(cluster.produced).toBe(2);
  });

  test.each([
    ['written without an answer', writtenAndNotAnswered],
    ['cut off', cut],
  ])('whose first try was %s may be written, though the second is refused', async (_what, first) => {
    expect(await failureOf(first, refused(TOPIC_AUTHORIZATION_FAILED))).toMatchObject({ mayBeWritten: true });
    expect(cluster.produced).toBe(2);
  });

  test.each([cut, writtenAndNotAnswered])(
    'may be written, though the question who leads is refused then',
    async (first) => {
      let asked = 0;
      cluster.refresh = async () => {
        asked += 1;
        throw createErrorFromCode(TOPIC_AUTHORIZATION_FAILED);
      };
      expect(await failureOf(first)).toMatchObject({ mayBeWritten: true });
      expect(asked).toBe(1);
    },
  );

  test.each([
    ['answer was lost', writtenAndNotAnswered],
    ['leader has moved', refused(NOT_LEADER_FOR_PARTITION)],
  ])('whose %s is tried again, and written once', async (_what, first) => {
    cluster.tries = [first, written];
    expect(await publisher.publish(RECORD)).toMatchObject({ offset: 0n });
    expect(await publisher.publish(RECORD)).toMatchObject({ offset: 1n });
    expect(cluster.log2()).toEqual(['paid', 'paid']);
  });

  test('that the answer leaves out, or whose partition has gone, may be written', async () => {
    const unconfirmed = { mayBeWritten: true, message: expect.stringContaining('did not confirm partition') as string };
    expect(await failureOf(leftOut)).toMatchObject(unconfirmed);
    await expect(publisher.publish({ ...RECORD, partition: 7 })).rejects.toMatchObject(unconfirmed);
  });

  test('is tried a limited number of times', async () => {
    expect(await failureOf(cut)).toMatchObject({ mayBeWritten: true });
    expect(cluster.produced).toBe(1 + RETRY.retries);
  });

  test('that is tried again does not keep those of other partitions back', async () => {
    const order: string[] = [];
    // The first partition has no leader until the other one was written.
    const leaderless: Try = (write, { topicData }) =>
      topicData[0]?.partitions[0]?.partition === 0 && order.length === 0
        ? refused(LEADER_NOT_AVAILABLE)(write, { producerId: 0, topicData })
        : write();
    cluster.tries = [leaderless];
    const publish = async (partition: number, value: string): Promise<void> => {
      await publisher.publish({ ...RECORD, key: null, partition, value: Buffer.from(value) });
      order.push(value);
    };
    await Promise.all([publish(0, 'first'), publish(0, 'second'), publish(1, 'other')]);
    expect(order).toEqual(['other', 'first', 'second']);
  });

  test('that failed does not keep the next one back', async () => {
    await failureOf(cut, refused(TOPIC_AUTHORIZATION_FAILED));
    cluster.tries = [written];
    expect(await publisher.publish(RECORD)).toMatchObject({ offset: 0n });
  });
});
