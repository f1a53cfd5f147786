/** A transaction is all or nothing whatever brokers and the network do, and no request is sent that could make it both. */
import { describe, expect, test } from 'vitest';
import type { CommitFailure } from '../../src/producers/broker-verdicts.ts';
import { kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import type { Written } from '../../src/producers/producer-session.ts';
import { batchName, encodeBatches, type OutgoingRecord } from '../../src/producers/record-batch.ts';
import { TransactionalProducer, TransactionFailedError } from '../../src/producers/transactional-producer.ts';
import { ScriptedKafka, TOPIC, type Happening } from './scripted-kafka.ts';

const STEPS = ['initialise', 'add', 'produce', 'commit'] as const;
/** Which other nodes than partition 0 has lead these. */
const [ELSEWHERE, SAME_NODE] = [1, 3];
/** Longer than any deadline. */
const LATE_MS = 120_000;

async function producerOf(kafka: ScriptedKafka): Promise<TransactionalProducer> {
  const producer = new TransactionalProducer(kafka.client(), {
    transactionalId: 'id',
    compressedTopics: new Set([TOPIC]),
  });
  await producer.open();
  return producer;
}

function record(value: string, partition = 0): OutgoingRecord {
  return { topic: TOPIC, partition, key: value, value: Buffer.from(value), headers: {} };
}

/** In one transaction, all of it expected. */
function commit(producer: TransactionalProducer, ...records: readonly OutgoingRecord[]): Promise<Written> {
  const batches = encodeBatches(records);
  return producer.commit(batches, async () => batches);
}

async function failureOf(commit: Promise<unknown>): Promise<CommitFailure> {
  const error: unknown = await commit.then(
    () => 'it was committed',
    (reason: unknown) => reason,
  );
  if (!(error instanceof TransactionFailedError)) throw error;
  return error.failure;
}

test('partitions are registered, written and committed; the coordinator is found once', () =>
  ScriptedKafka.run(async (kafka) => {
    const producer = await producerOf(kafka);
    await commit(producer, record('a'), record('b', SAME_NODE), record('c'));
    const written = await commit(producer, record('d'), record('e', ELSEWHERE));
    expect(kafka.asked).toEqual([
      ...['find coordinator', 'initialise', 'add', 'produce', 'commit'],
      // The first is ended meanwhile. Two nodes lead the partitions of the second.
      ...kafka.asked.slice(5).filter((point) => point === 'add'),
      ...['produce', 'produce', 'commit'],
    ]);
    await kafka.until(() => kafka.committed(0).length === 3);
    expect([0, SAME_NODE, ELSEWHERE].map((partition) => kafka.committed(partition))).toEqual([
      ['a', 'c', 'd'],
      ['b'],
      ['e'],
    ]);
    // Behind two records and a mark.
    expect(written.get(batchName(TOPIC, 0))?.firstOffset).toBe(3n);
  }));

test('what is wanted is asked once the transaction before is ended; partitions that are new by then go along', () =>
  ScriptedKafka.run(async (kafka) => {
    const producer = await producerOf(kafka);
    await commit(producer, record('a'));
    kafka.happens('add', ...Array<Happening>(3).fill({ kind: 'error', type: 'CONCURRENT_TRANSACTIONS' }));
    kafka.asked.length = 0;
    await producer.commit([record('b')], async () => {
      kafka.asked.push('wanted');
      return encodeBatches([record('b'), record('c', 1)]);
    });
    const wantedAt = kafka.asked.indexOf('wanted');
    expect(kafka.asked.slice(0, wantedAt).length).toBeGreaterThanOrEqual(4);
    expect(new Set(kafka.asked.slice(0, wantedAt))).toEqual(new Set(['add']));
    expect(kafka.asked.slice(wantedAt)).toEqual(['wanted', 'add', 'produce', 'produce', 'commit']);
    await kafka.until(() => kafka.committed(1).length === 1);
  }));

test('a partition that was announced and is not written gets a mark, and the next transaction follows it', () =>
  ScriptedKafka.run(async (kafka) => {
    const producer = await producerOf(kafka);
    await producer.commit([record('', 0), record('', 1)], async () => encodeBatches([record('a', 1)]));
    const written = await commit(producer, record('b', 0), record('c', 1));
    expect(written.get(batchName(TOPIC, 0))?.firstOffset).toBe(1n);
    expect(written.get(batchName(TOPIC, 1))?.firstOffset).toBe(2n);
  }));

test('where nothing is wanted in the end the transaction is aborted, and the next one goes through', () =>
  ScriptedKafka.run(async (kafka) => {
    const producer = await producerOf(kafka);
    expect(await producer.commit([record('a')], async () => [])).toEqual(new Map());
    expect(kafka.asked).toEqual(['find coordinator', 'initialise', 'add', 'abort']);
    await producer.commit([], async () => []);
    expect(kafka.asked).toHaveLength(4);
    await commit(producer, record('b'));
    await kafka.until(() => kafka.committed(0).length === 1);
  }));

test('records that cannot be encoded are refused, and nothing is written', () =>
  ScriptedKafka.run(async (kafka) => {
    const bad = { ...record('a'), headers: { bad: 7 as unknown as string } };
    expect(await failureOf((await producerOf(kafka)).commit([bad], async () => encodeBatches([bad])))).toBe('refused');
    expect(kafka.asked).not.toContain('produce');
  }));

describe('the answer of EndTxn', () => {
  test('is lost: how the transaction ended stays open, it is not asked again, and the producer is of no use', () =>
    ScriptedKafka.run(async (kafka) => {
      const producer = await producerOf(kafka);
      kafka.happens('commit', { kind: 'answer-lost' });
      expect(await failureOf(commit(producer, record('a')))).toBe('not-committed');
      expect(kafka.asked.filter((point) => point === 'commit')).toHaveLength(1);
      await kafka.until(() => kafka.committed(0).length === 1);
      await expect(commit(producer, record('b'))).rejects.toThrow('the producer was closed');
    }));

  test('says that the coordinator is not there, though the end stands: it is asked again, and the same comes of it', () =>
    ScriptedKafka.run(async (kafka) => {
      const producer = await producerOf(kafka);
      kafka.happens('commit', { kind: 'done-but', type: 'GROUP_COORDINATOR_NOT_AVAILABLE' });
      await commit(producer, record('a'));
      expect(kafka.asked.filter((point) => point === 'commit').length).toBeGreaterThan(1);
      await commit(producer, record('b'));
      await kafka.until(() => kafka.committed(0).length === 2);
    }));

  test('of an abort is lost: the next transaction could be aborted by it, so there is none', () =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens('abort', { kind: 'answer-lost' });
      expect(await failureOf((await producerOf(kafka)).commit([record('a')], async () => []))).toBe('not-committed');
    }));
});

test('the coordinator moves between registering and writing: the one that is in charge ends the transaction', () =>
  ScriptedKafka.run(async (kafka) => {
    kafka.happens('produce', { kind: 'before', work: () => kafka.broker.coordinators.move('id') });
    await commit(await producerOf(kafka), record('a'));
    expect(kafka.asked.slice(-4)).toEqual(['produce', 'commit', 'find coordinator', 'commit']);
    await kafka.until(() => kafka.committed(0).length === 1);
  }));

test.each(['request-lost', 'answer-lost'] as const)(
  'a coordinator whose %s is found again and asked the same',
  (kind) =>
    ScriptedKafka.run(async (kafka) => {
      for (const point of ['initialise', 'add']) kafka.happens(point, { kind });
      await commit(await producerOf(kafka), record('a'));
      await kafka.until(() => kafka.committed(0).length === 1);
      expect(kafka.asked.filter((point) => point === 'find coordinator')).toHaveLength(3);
    }),
);

describe('a write', () => {
  test.each<[string, Happening, number]>([
    ['whose answer is lost', { kind: 'answer-lost' }, 2],
    ['that is lost on its way', { kind: 'request-lost' }, 1],
    ['whose replicas were late', { kind: 'done-but', type: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND' }, 2],
    ['that came to a former leader', { kind: 'error', type: 'NOT_LEADER_FOR_PARTITION' }, 2],
  ])('%s is sent again as it was, and is there once', (_, happening, arrivals) =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens('produce', happening);
      const written = await commit(await producerOf(kafka), record('a'), record('b'));
      await kafka.until(() => kafka.committed(0).length > 0);
      expect(kafka.committed(0)).toEqual(['a', 'b']);
      expect(written.get(batchName(TOPIC, 0))?.firstOffset).toBe(0n);
      expect(kafka.sent).toHaveLength(arrivals);
      expect(new Set(kafka.sent.map(({ bytes }) => bytes)).size).toBe(1);
    }),
  );

  test('whose partitions the coordinator answers for one alone are registered again before anything is written', () =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens('add', { kind: 'first-alone' });
      await commit(await producerOf(kafka), record('a'), record('b', SAME_NODE));
      expect(kafka.asked.slice(2)).toEqual(['add', 'find coordinator', 'add', 'produce', 'commit']);
    }));

  test('that is answered for one partition of several: the others are sent again, and that one is not', () =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens('produce', { kind: 'first-alone' });
      const written = await commit(await producerOf(kafka), record('a'), record('b', SAME_NODE));
      expect(written.size).toBe(2);
      expect(kafka.sent.map(({ partition }) => partition)).toEqual([0, SAME_NODE, SAME_NODE]);
      await kafka.until(() => kafka.committed(SAME_NODE).length === 1);
      expect(kafka.committed(0)).toEqual(['a']);
    }));

  test('that is refused for one partition of several: the others are not sent again', () =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens('produce', { kind: 'error', type: 'NOT_LEADER_FOR_PARTITION' });
      await commit(await producerOf(kafka), record('a'), record('b', SAME_NODE));
      expect(kafka.sent.map(({ partition }) => partition)).toEqual([0, SAME_NODE, 0]);
    }));

  test('whose leader moves in the middle of a transaction goes to the new one, with the sequence of the first try', () =>
    ScriptedKafka.run(async (kafka) => {
      const producer = await producerOf(kafka);
      await commit(producer, record('a'));
      kafka.happens('produce', { kind: 'before', work: () => kafka.broker.moveLeader(TOPIC, 0, Infinity, 0) });
      await commit(producer, record('b'));
      await commit(producer, record('c'));
      await kafka.until(() => kafka.committed(0).length === 3);
      expect(kafka.committed(0)).toEqual(['a', 'b', 'c']);
    }));

  test('that the broker has, and does not say where: it is committed, and its place is not known', () =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens('produce', { kind: 'answer-lost' }, { kind: 'error', type: 'DUPLICATE_SEQUENCE_NUMBER' });
      expect(await commit(await producerOf(kafka), record('a'))).toEqual(new Map());
      await kafka.until(() => kafka.committed(0).length === 1);
    }));

  test.each(['DUPLICATE_SEQUENCE_NUMBER', 'OUT_OF_ORDER_SEQUENCE_NUMBER', 'UNKNOWN_PRODUCER_ID', 'INVALID_TXN_STATE'])(
    'whose first try is answered %s is not committed: the broker has other records than were sent',
    (type) =>
      ScriptedKafka.run(async (kafka) => {
        kafka.happens('produce', { kind: 'error', type });
        expect(await failureOf(commit(await producerOf(kafka), record('a')))).toBe('not-committed');
        expect(kafka.asked).not.toContain('commit');
        expect(kafka.sent).toHaveLength(1);
      }),
  );

  test.each(['MESSAGE_TOO_LARGE', 'INVALID_RECORD', 'CORRUPT_MESSAGE'])('that is answered %s is refused', (type) =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens('produce', { kind: 'error', type });
      expect(await failureOf(commit(await producerOf(kafka), record('a')))).toBe('refused');
      expect(kafka.asked).not.toContain('commit');
    }),
  );
});

describe.each(STEPS)('at %s', (step) => {
  test('a producer that was fenced asks nothing more, and nothing of it is committed', () =>
    ScriptedKafka.run(async (kafka) => {
      const producer = await producerOf(kafka);
      if (step !== 'initialise') {
        await commit(producer, record('first'));
        await kafka.until(() => kafka.broker.isIdle('id'));
        kafka.happens(step, { kind: 'before', work: () => kafka.broker.fence('id') });
      } else kafka.happens(step, { kind: 'error', type: 'INVALID_PRODUCER_EPOCH' });
      kafka.asked.length = 0;
      expect(await failureOf(commit(producer, record('second')))).toBe('fenced');
      expect(kafka.asked.at(-1)).toBe(step);
      const next = await producerOf(kafka);
      await commit(next, record('next'));
      await kafka.until(() => kafka.committed(0).includes('next'));
      expect(kafka.committed(0)).not.toContain('second');
    }));

  test('no answer comes in time: the producer is given up, and sends nothing more when it comes', () =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens(step, { kind: 'silence' });
      const producer = await producerOf(kafka);
      const [startMs, failing] = [kafka.time.nowMs, failureOf(commit(producer, record('a')))];
      expect(await failing).toBe('not-committed');
      expect(kafka.time.nowMs - startMs).toBe(10_000);
      const { length } = kafka.asked;
      await new Promise((resolve) => setTimeout(resolve, LATE_MS));
      expect(kafka.asked).toHaveLength(length);
      expect(kafka.asked.at(-1)).toBe(step);
    }));

  test('an error that no producer knows ends it', () =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens(step, { kind: 'error', type: 'SECURITY_DISABLED' });
      expect(await failureOf(commit(await producerOf(kafka), record('a')))).toBe('not-committed');
      expect(kafka.asked.at(-1)).toBe(step);
    }));
});

test.each(['initialise', 'add', 'commit'])('a coordinator that speaks of a duplicate at %s has not done it', (step) =>
  ScriptedKafka.run(async (kafka) => {
    kafka.happens(step, ...Array<Happening>(10_000).fill({ kind: 'error', type: 'DUPLICATE_SEQUENCE_NUMBER' }));
    expect(await failureOf(commit(await producerOf(kafka), record('a')))).toBe('not-committed');
  }),
);

test.each(['initialise', 'add', 'produce'])(
  'an outage at %s that does not pass ends with the deadline, and says what it was',
  (step) =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens(step, ...Array<Happening>(10_000).fill({ kind: 'request-lost' }));
      const failed: unknown = await commit(await producerOf(kafka), record('a')).catch((error: unknown) => error);
      expect(failed).toMatchObject({ failure: 'not-committed' });
      expect(String(failed)).toContain('connection lost');
      expect(kafka.asked.length).toBeLessThan(100);
    }),
);

test('topics of others that no broker leads hold nothing up', () =>
  ScriptedKafka.run(async (kafka) => {
    kafka.broker.createTopic('of others', 1);
    kafka.broker.loseLeaders('of others');
    const producer = await producerOf(kafka);
    const startMs = kafka.time.nowMs;
    await commit(producer, record('a'));
    await producerOf(kafka).then((next) => next.fence());
    expect(kafka.time.nowMs - startMs).toBeLessThan(1_000);
  }));

test('a right that is missing ends it at once, and is known by name', () =>
  ScriptedKafka.run(async (kafka) => {
    kafka.happens('initialise', { kind: 'error', type: 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' });
    const error: unknown = await (await producerOf(kafka)).fence().catch((reason: unknown) => reason);
    expect(kafkaRefusal(error)).toMatchObject({ kind: 'authorization', resource: 'transactional id' });
    expect(kafka.asked.filter((point) => point === 'initialise')).toHaveLength(1);
  }));

test.each(['add', 'produce'])(
  'a right to a topic that is missing at %s ends it at once, and the topic is named',
  (step) =>
    ScriptedKafka.run(async (kafka) => {
      kafka.happens(step, { kind: 'error', type: 'TOPIC_AUTHORIZATION_FAILED' });
      const error: unknown = await commit(await producerOf(kafka), record('a')).catch((reason: unknown) => reason);
      expect(kafkaRefusal(error)).toMatchObject({ kind: 'authorization', resource: 'topic', name: TOPIC });
      expect(kafka.asked.at(-1)).toBe(step);
    }),
);

test('fencing ends the transaction that is open, and asks until that is so', () =>
  ScriptedKafka.run(async (kafka) => {
    const producer = await producerOf(kafka);
    kafka.happens('commit', { kind: 'silence' });
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const failing = failureOf(
      producer.commit([record('a')], async () => {
        await promise;
        return encodeBatches([record('a')]);
      }),
    );
    await kafka.until(() => kafka.asked.includes('add'));
    await (await producerOf(kafka)).fence();
    resolve(undefined);
    expect(await failing).toBe('fenced');
    expect(kafka.broker.log(TOPIC, 0).committed()).toEqual([]);
  }));

test('a producer that is dropped in the middle of a step sends nothing more', () =>
  ScriptedKafka.run(async (kafka) => {
    const producer = await producerOf(kafka);
    kafka.happens('produce', { kind: 'before', work: () => producer.drop() });
    expect(await failureOf(commit(producer, record('a')))).toBe('not-committed');
    expect(kafka.asked.at(-1)).toBe('produce');
  }));
