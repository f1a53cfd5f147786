/**
 * A send to several partitions resolves when each of them has acknowledged, and writes each record once, although a
 * leader moves between two tries. Two brokers in memory, behind the interface through which the sender sees a cluster.
 */
import { createRequire } from 'node:module';
import { beforeEach, describe, expect, test } from 'vitest';
import { InMemoryCluster, TOPIC } from './in-memory-cluster.ts';

interface Acknowledgement {
  topicName: string;
  partition: number;
  errorCode: number;
}

interface EosManager {
  initProducerId(): Promise<void>;
  getSequence(topic: string, partition: number): number;
}

type SendMessages = (request: {
  acks: number;
  topicMessages: { topic: string; messages: { value: string; partition?: number }[] }[];
}) => Promise<Acknowledgement[]>;

// The patched code is internal to the library, so it is loaded from inside of it.
const require = createRequire(import.meta.url);
const createSendMessages = require('kafkajs/src/producer/sendMessages') as (options: object) => SendMessages;
const createEosManager = require('kafkajs/src/producer/eosManager') as (options: object) => EosManager;
const createRetry = require('kafkajs/src/retry') as (options: object) => unknown;

const RETRY = { initialRetryTime: 1, maxRetryTime: 2, retries: 5 };
const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

let cluster: InMemoryCluster;
let eosManager: EosManager;
let sendMessages: SendMessages;

beforeEach(() => {
  cluster = new InMemoryCluster();
});

describe.each([
  { producer: 'plain', idempotent: false },
  { producer: 'idempotent', idempotent: true },
])('$producer producer', ({ idempotent }) => {
  beforeEach(async () => {
    eosManager = createEosManager({ logger, cluster });
    if (idempotent) await eosManager.initProducerId();
    const partitioner = ({ message }: { message: { partition: number } }): number => message.partition;
    sendMessages = createSendMessages({ logger, cluster, partitioner, eosManager, retrier: createRetry(RETRY) });
  });

  test.each<[string, () => unknown]>([
    // Partition 1 has gone from broker 2 to broker 1, and the sender does not know yet.
    ['a leader moves to the broker that has already acknowledged the other one', () => cluster.moveLeader(1, 1)],
    [
      'a broker refuses one of its partitions',
      async () => {
        cluster.moveLeader(1, 1);
        await cluster.refreshMetadata();
        cluster.moveLeader(1, 2);
      },
    ],
    [
      'one broker acknowledges late, after another has failed',
      () => {
        cluster.moveLeader(1, 1);
        cluster.answerLate(1);
      },
    ],
  ])('%s: both partitions are written, once', async (_what, happen) => {
    await happen();
    expect((await send()).map(({ partition }) => partition).toSorted()).toEqual([0, 1]);
    expect([cluster.log(0), cluster.log(1)]).toEqual([['to 0'], ['to 1']]);
  });

  test('the next send goes on with the sequences that the brokers expect', async () => {
    cluster.moveLeader(1, 1);
    await send();
    await send();

    expect(cluster.log(0)).toEqual(['to 0', 'to 0']);
    expect(cluster.log(1)).toEqual(['to 1', 'to 1']);
    expect([eosManager.getSequence(TOPIC, 0), eosManager.getSequence(TOPIC, 1)]).toEqual(idempotent ? [2, 2] : [0, 0]);
  });

  test('a partition that the cluster does not know: rejected, not dropped', async () => {
    const messages = [
      { value: 'to 0', partition: 0 },
      { value: 'to nowhere', partition: 7 },
    ];
    await expect(sendMessages({ acks: -1, topicMessages: [{ topic: TOPIC, messages }] })).rejects.toThrow(`${TOPIC}:7`);
  });

  test('a broker whose answer leaves out a partition: rejected', async () => {
    cluster.leaveOutOfAnswers(1);
    await expect(send()).rejects.toThrow(`${TOPIC}:1`);
  });
});

test('a partitioner that changes its mind between two tries: each record is written once', async () => {
  eosManager = createEosManager({ logger, cluster });
  let turn = 0;
  const partitioner = (): number => turn++ % 2;
  sendMessages = createSendMessages({ logger, cluster, partitioner, eosManager, retrier: createRetry(RETRY) });
  cluster.moveLeader(1, 1);

  const messages = [{ value: 'a' }, { value: 'b' }, { value: 'c' }];
  await sendMessages({ acks: -1, topicMessages: [{ topic: TOPIC, messages }] });

  expect([...cluster.log(0), ...cluster.log(1)].toSorted()).toEqual(['a', 'b', 'c']);
});

function send(): Promise<Acknowledgement[]> {
  const messages = [
    { value: 'to 0', partition: 0 },
    { value: 'to 1', partition: 1 },
  ];
  return sendMessages({ acks: -1, topicMessages: [{ topic: TOPIC, messages }] });
}

function ignore(): void {
  // The tests check writes and answers, not logs.
}
