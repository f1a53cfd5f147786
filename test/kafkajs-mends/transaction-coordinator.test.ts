/**
 * A transactional producer remembers its coordinator instead of looking it up for each request, finds the one that is in
 * charge when it moves, and can wait until that has ended the transaction before. Two nodes in memory, behind the interface through which the producer sees a cluster; how
 * often is asked, on the real broker.
 */
import { createRequire } from 'node:module';
import { beforeEach, describe, expect, test } from 'vitest';
import { connectKafka, createTopic } from './local-kafka.ts';

interface EosManager {
  initProducerId(): Promise<void>;
  beginTransaction(): void;
  addPartitionsToTransaction(topicData: { topic: string; partitions: { partition: number }[] }[]): Promise<void>;
  waitForCoordinator(topicData: { topic: string; partitions: { partition: number }[] }[]): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

const require = createRequire(import.meta.url);
const createEosManager = require('kafkajs/src/producer/eosManager') as (options: object) => EosManager;
const { KafkaJSConnectionError, KafkaJSProtocolError } = require('kafkajs/src/errors') as Record<
  string,
  new (error: object) => Error
>;
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error & { type: string };
};

const NOT_COORDINATOR = 16;
const CONCURRENT_TRANSACTIONS = 51;
const TRANSACTIONS = 10;
const TOPIC_DATA = [{ topic: 'payments', partitions: [{ partition: 0 }] }];
const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Two nodes, one of which coordinates; what each was asked, in order. */
class Coordinators {
  readonly retry = { initialRetryTime: 1, maxRetryTime: 2, retries: 3 };
  readonly asked: string[] = [];
  coordinator = 1;
  readonly gone = new Set<number>();
  /** Right after it was looked up. */
  movesTo: number | null = null;
  /** Of the next request, whichever node gets it. */
  nextError: Error | null = null;
  /** Of the requests to come, that many are answered that it still ends the transaction before. */
  busy = 0;

  async refreshMetadataIfNecessary(): Promise<void> {
    // The metadata is young.
  }

  async findBroker({ nodeId }: { nodeId: number }): Promise<object> {
    if (this.gone.has(nodeId)) throw new KafkaJSConnectionError!({ message: 'Connection refused', broker: nodeId });
    const answer = (request: string, value: unknown) => async (): Promise<unknown> => {
      this.asked.push(`${request} ${nodeId}`);
      const error = this.nextError;
      this.nextError = null;
      if (error !== null) throw error;
      this.busy -= 1;
      if (this.busy >= 0) throw new KafkaJSProtocolError!(createErrorFromCode(CONCURRENT_TRANSACTIONS));
      if (nodeId !== this.coordinator) throw new KafkaJSProtocolError!(createErrorFromCode(NOT_COORDINATOR));
      return value;
    };
    return {
      nodeId,
      initProducerId: answer('init', { producerId: '4001', producerEpoch: 0 }),
      addPartitionsToTxn: answer('add', undefined),
      endTxn: answer('end', undefined),
    };
  }

  async findGroupCoordinator(): Promise<object> {
    this.asked.push('look up');
    const found = this.findBroker({ nodeId: this.coordinator });
    this.coordinator = this.movesTo ?? this.coordinator;
    return found;
  }
}

let nodes: Coordinators;
let transactions: EosManager;

beforeEach(async () => {
  nodes = new Coordinators();
  transactions = createEosManager({ logger, cluster: nodes, transactional: true, transactionalId: 'transaction' });
  await transactions.initProducerId();
  transactions.beginTransaction();
});

async function addAndCommit(): Promise<void> {
  await transactions.addPartitionsToTransaction(TOPIC_DATA);
  await transactions.commit();
}

describe('a coordinator in memory', () => {
  test('is looked up once, and asked by all that follows', async () => {
    await addAndCommit();
    transactions.beginTransaction();
    await transactions.addPartitionsToTransaction(TOPIC_DATA);
    await transactions.abort();

    expect(nodes.asked).toEqual(['look up', 'init 1', 'add 1', 'end 1', 'add 1', 'end 1']);
  });

  test('that has moved says so: the one in charge gets the same request', async () => {
    nodes.coordinator = 2;
    await transactions.addPartitionsToTransaction(TOPIC_DATA);
    nodes.coordinator = 1;
    await transactions.commit();

    expect(nodes.asked.slice(2)).toEqual(['add 1', 'look up', 'add 2', 'end 2', 'look up', 'end 1']);
  });

  test('that moves twice in a row ends the request, and is looked up for the next', async () => {
    nodes.coordinator = 2;
    nodes.movesTo = 1;

    await expect(transactions.addPartitionsToTransaction(TOPIC_DATA)).rejects.toMatchObject({
      type: 'NOT_COORDINATOR_FOR_GROUP',
    });
    await addAndCommit();

    expect(nodes.asked.slice(2)).toEqual(['add 1', 'look up', 'add 2', 'look up', 'add 1', 'end 1']);
  });

  test('whose node cannot be reached is looked up', async () => {
    nodes.gone.add(1);
    nodes.coordinator = 2;
    await addAndCommit();

    expect(nodes.asked.slice(2)).toEqual(['look up', 'add 2', 'end 2']);
  });

  test('whose connection breaks at the end is not asked again: what came of the transaction is open', async () => {
    await transactions.addPartitionsToTransaction(TOPIC_DATA);
    nodes.nextError = new KafkaJSConnectionError!({ message: 'Closed connection', broker: 1 });

    await expect(transactions.commit()).rejects.toThrow('Closed connection');

    expect(nodes.asked.slice(2)).toEqual(['add 1', 'end 1']);
  });

  test('that is still busy with the transaction before stays remembered', async () => {
    nodes.busy = 1;
    await expect(transactions.addPartitionsToTransaction(TOPIC_DATA)).rejects.toMatchObject({
      type: 'CONCURRENT_TRANSACTIONS',
    });
    await addAndCommit();

    expect(nodes.asked.slice(2)).toEqual(['add 1', 'add 1', 'end 1']);
  });

  test('that is busy is waited for; what it has taken then is not announced again', async () => {
    nodes.busy = 3;
    await transactions.waitForCoordinator(TOPIC_DATA);
    await addAndCommit();

    expect(nodes.asked.slice(2)).toEqual(['add 1', 'add 1', 'add 1', 'add 1', 'end 1']);
  });

  test('that stays busy is not waited for without end', async () => {
    nodes.busy = Infinity;
    await transactions.waitForCoordinator(TOPIC_DATA);

    await expect(transactions.addPartitionsToTransaction(TOPIC_DATA)).rejects.toMatchObject({
      type: 'CONCURRENT_TRANSACTIONS',
    });
  });

  test('that fails while it is waited for fails what comes next, if it must', async () => {
    nodes.nextError = new KafkaJSConnectionError!({ message: 'Closed connection', broker: 1 });
    await transactions.waitForCoordinator(TOPIC_DATA);
    await addAndCommit();

    expect(nodes.asked.slice(2)).toEqual(['add 1', 'look up', 'add 1', 'end 1']);
  });
});

test('the real coordinator, once found, is not looked up by the transactions that follow', async () => {
  const kafka = connectKafka();
  const topic = await createTopic(kafka);
  const producer = kafka.producer({ transactionalId: `mends-${topic}`, idempotent: true, maxInFlightRequests: 1 });
  const requests: string[] = [];
  producer.on(producer.events.REQUEST, ({ payload }) => void requests.push(payload.apiName));
  const commit = async (value: string): Promise<void> => {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value }] });
    await transaction.commit();
  };
  await producer.connect();
  try {
    // A broker that has just started says at first that it does not know yet.
    await commit('first');
    expect(requests).toContain('GroupCoordinator');
    requests.length = 0;
    for (let count = 0; count < TRANSACTIONS; count += 1) await commit(String(count));
  } finally {
    await producer.disconnect();
  }
  expect(requests.filter((name) => name === 'EndTxn')).toHaveLength(TRANSACTIONS);
  expect(requests).not.toContain('GroupCoordinator');
});

test('the real coordinator takes what was announced; a transaction that ends without messages hinders none', async () => {
  const kafka = connectKafka();
  const topic = await createTopic(kafka);
  const producer = kafka.producer({ transactionalId: `mends-${topic}`, idempotent: true, maxInFlightRequests: 1 });
  const requests: string[] = [];
  producer.on(producer.events.REQUEST, ({ payload }) => void requests.push(payload.apiName));
  const announced = [{ topic, partitions: [{ partition: 0 }] }];
  await producer.connect();
  try {
    const first = await producer.transaction();
    await first.send({ topic, messages: [{ value: 'first' }] });
    await first.commit();
    const empty = await producer.transaction();
    await empty.ready(announced);
    await empty.abort();
    for (let count = 0; count < TRANSACTIONS; count += 1) {
      const transaction = await producer.transaction();
      await transaction.ready(announced);
      requests.length = 0;
      await transaction.send({ topic, messages: [{ value: String(count), partition: 0 }] });
      await transaction.commit();
      expect(requests).not.toContain('AddPartitionsToTxn');
    }
  } finally {
    await producer.disconnect();
  }
});

function ignore(): void {
  // Nobody reads this log.
}
