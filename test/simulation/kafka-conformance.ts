/** What lanes rely on of Kafka, told through the processor's own producers and readers: of the real one and the simulated. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { GroupMember, type FetchedBatch, type MemberHandlers } from '../../src/consumers/group-member.ts';
import { sleep } from '../../src/consumers/signal.ts';
import { openTopicReader } from '../../src/consumers/topic-reader.ts';
import { TopicOffsets } from '../../src/consumers/topic-offsets.ts';
import { systemClock } from '../../src/api/clock.ts';
import { createKafka, LANE_RETRY, PATIENT_RETRY, type KafkaSettings } from '../../src/producers/kafka-client.ts';
import { LaneProducer, LaneProducerError, type OutgoingRecord } from '../../src/producers/lane-producer.ts';

export interface KafkaInTest {
  readonly settings: KafkaSettings;
  makeTopic(topic: string, partitions: number): Promise<void>;
  /** Runs a test's body, and lets time pass meanwhile. */
  run(body: () => Promise<void>): Promise<void>;
}

const SESSION_TIMEOUT_MS = 6_000;
const HEARTBEAT_INTERVAL_MS = 300;
const AWAIT_MS = 20_000;
const STEP_MS = 20;
const SETTLE_MS = 700;

export function testKafka(kafka: () => KafkaInTest): void {
  const silent = (): void => undefined;
  const made = (): { topic: string; groupId: string; id: string } => {
    const name = `conformance-${randomUUID()}`;
    return { topic: name, groupId: `${name}-group`, id: `${name}-lane` };
  };
  const producerOf = (id: string, groupId: string): LaneProducer =>
    new LaneProducer(kafka().settings, { transactionalId: id, groupId, clientId: id, log: silent });
  const record = (topic: string, value: string, partition = 0): OutgoingRecord => ({
    topic,
    partition,
    key: value,
    value: Buffer.from(value),
    headers: { name: value },
  });
  /** A transaction of which one record is written, and whose end is left to the caller. */
  const openTransaction = async (
    id: string,
    topic: string,
    value: string,
  ): Promise<{ commit: () => Promise<void> }> => {
    const client = createKafka(kafka().settings, id, { retry: LANE_RETRY });
    const producer = client.producer({
      transactionalId: id,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: 15_000,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.sendBatch({ topicMessages: [{ topic, messages: [{ ...record(topic, value), headers: {} }] }] });
    return { commit: () => transaction.commit().finally(() => producer.disconnect()) };
  };
  const valuesOf = async (topic: string): Promise<string[]> => {
    const values: string[] = [];
    const reader = await openTopicReader(createKafka(kafka().settings, topic, { retry: PATIENT_RETRY }), {
      topics: [topic],
      start: { from: 'beginning' },
      untilEnd: true,
      groupPrefix: topic,
      onRecord: ({ headers, value }) => void values.push(headers['name'] ?? value?.toString() ?? ''),
    });
    await reader.ended;
    await reader.close();
    return values;
  };
  const memberOf = (
    topic: string,
    groupId: string,
    laneCount: number,
    handlers: Partial<MemberHandlers>,
  ): GroupMember =>
    new GroupMember({
      settings: kafka().settings,
      groupId,
      clientId: `${groupId}-${randomUUID()}`,
      topics: [topic],
      laneCount,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS,
      clock: systemClock,
      log: silent,
      handlers: { assigned: silent, batch: () => 'not-now', filtered: silent, crashed: silent, ...handlers },
    });
  const kafkaTest = (name: string, body: (given: ReturnType<typeof made>) => Promise<void>): void =>
    test(name, () => kafka().run(() => body(made())));

  kafkaTest('what is committed is read in the order of its partition', async ({ groupId, id, topic }) => {
    await kafka().makeTopic(topic, 2);
    const producer = producerOf(id, groupId);
    await producer.open();
    await producer.commit([record(topic, 'a'), record(topic, 'b')], []);
    await producer.commit([record(topic, 'c'), record(topic, 'd', 1)], []);
    await producer.close();
    await until(async () => (await valuesOf(topic)).length === 4);
    expect((await valuesOf(topic)).filter((value) => value !== 'd')).toEqual(['a', 'b', 'c']);
  });

  kafkaTest(
    'the next producer of a lane fences the one before: nothing of it is committed any more',
    async ({ groupId, id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const [former, next] = [producerOf(id, groupId), producerOf(id, groupId)];
      await former.open();
      await former.commit([record(topic, 'former')], []);
      await next.open();
      await next.commit([record(topic, 'next')], []);
      await expect(former.commit([record(topic, 'too late')], [])).rejects.toThrow(LaneProducerError);
      await expect(former.commit([record(topic, 'even later')], [])).rejects.toThrow(LaneProducerError);
      await Promise.all([former.close(), next.close()]);
      await until(async () => (await valuesOf(topic)).length === 2);
      expect(await valuesOf(topic)).toEqual(['former', 'next']);
    },
  );

  kafkaTest('a transaction that a producer left open is aborted by the next one', async ({ groupId, id, topic }) => {
    await kafka().makeTopic(topic, 1);
    const open = await openTransaction(id, topic, 'left open');
    const next = producerOf(id, groupId);
    await next.open();
    await next.commit([record(topic, 'next')], []);
    await next.close();
    await expect(open.commit()).rejects.toThrow();
    await until(async () => (await valuesOf(topic)).length > 0);
    expect(await valuesOf(topic)).toEqual(['next']);
  });

  kafkaTest(
    'readers see nothing behind a transaction that is open, not even what is committed',
    async ({ groupId, id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const open = await openTransaction(id, topic, 'first');
      const other = producerOf(`${id}-other`, groupId);
      await other.open();
      await other.commit([record(topic, 'second')], []);
      await sleep(SETTLE_MS);
      expect(await valuesOf(topic)).toEqual([]);
      await open.commit();
      await other.close();
      await until(async () => (await valuesOf(topic)).length === 2);
      expect(await valuesOf(topic)).toEqual(['first', 'second']);
    },
  );

  kafkaTest(
    'group offsets come with their transaction, and none of one that was fenced',
    async ({ groupId, id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const offsets = new TopicOffsets(kafka().settings, {
        groupId,
        clientId: groupId,
        clock: systemClock,
        log: silent,
      });
      const committed = async (): Promise<bigint | null> => (await offsets.startOf(topic, 0)).committedOffset;
      const [former, next] = [producerOf(id, groupId), producerOf(id, groupId)];
      await former.open();
      await former.commit([record(topic, 'a')], [{ topic, partition: 0, offset: 1n }]);
      await until(async () => (await committed()) === 1n);
      await next.open();
      await next.commit([record(topic, 'b')], []);
      await expect(former.commit([record(topic, 'c')], [{ topic, partition: 0, offset: 3n }])).rejects.toThrow();
      await sleep(SETTLE_MS);
      expect(await committed()).toBe(1n);
      await Promise.all([former.close(), next.close(), offsets.stop()]);
    },
  );

  kafkaTest('lanes are shared among members, and go to those that are left', async ({ groupId, topic }) => {
    await kafka().makeTopic(topic, 4);
    const lanes: (readonly number[])[] = [[], []];
    const members = lanes.map((_, index) =>
      memberOf(topic, groupId, 4, { assigned: (given) => void (lanes[index] = given) }),
    );
    await Promise.all(members.map((member) => member.start()));
    await until(() => lanes.every((given) => given.length === 2));
    expect(lanes.flat().sort()).toEqual([0, 1, 2, 3]);
    await members[0]?.stop();
    await until(() => lanes[1]?.length === 4);
    expect(members[1]?.isConfirmedWithinMs(SESSION_TIMEOUT_MS)).toBe(true);
    await members[1]?.stop();
  });

  kafkaTest(
    'a member is given batches from where it sought, one after the other, and none while it is paused',
    async ({ groupId, id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const producer = producerOf(id, groupId);
      await producer.open();
      for (const value of ['a', 'b', 'c']) await producer.commit([record(topic, value)], []);
      const batches: FetchedBatch[] = [];
      let isReady = false;
      const member = memberOf(topic, groupId, 1, {
        assigned: () => {
          member.seek(topic, 0, 2n);
          member.resume(topic, 0);
        },
        batch: (batch) => {
          if (!isReady) return 'not-now';
          batches.push(batch);
          return 'taken';
        },
      });
      await member.start();
      await sleep(SETTLE_MS);
      isReady = true;
      expect(batches).toEqual([]);
      member.resume(topic, 0);
      await until(() => taken(batches).length === 2);
      await producer.commit([record(topic, 'd')], []);
      await until(() => taken(batches).length === 3);
      await Promise.all([producer.close(), member.stop()]);
      expect(taken(batches)).toEqual(['b', 'c', 'd']);
      expect(batches[0]?.fetchedOffset).toBe(2n);
      for (const batch of batches)
        for (const { offset } of batch.messages) expect(BigInt(offset)).toBeLessThanOrEqual(batch.lastOffset);
    },
  );

  kafkaTest(
    'a fetch with nothing but aborted and control records is told of, not handed over',
    async ({ groupId, id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const open = await openTransaction(id, topic, 'aborted');
      const next = producerOf(id, groupId);
      await next.open();
      await next.commit([record(topic, 'kept')], []);
      await expect(open.commit()).rejects.toThrow();
      const passed: bigint[] = [];
      const batches: FetchedBatch[] = [];
      const member = memberOf(topic, groupId, 1, {
        assigned: () => {
          // The control record that ends the last transaction.
          member.seek(topic, 0, 3n);
          member.resume(topic, 0);
        },
        batch: (batch) => {
          batches.push(batch);
          return 'taken';
        },
        filtered: (_topic, _lane, _firstOffset, lastOffset) => void passed.push(lastOffset),
      });
      await member.start();
      await until(() => passed.includes(3n));
      await Promise.all([next.close(), member.stop()]);
      expect(batches).toEqual([]);
    },
  );
}

function taken(batches: readonly FetchedBatch[]): string[] {
  return batches.flatMap(({ messages }) => messages.map(({ value }) => value?.toString() ?? ''));
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + AWAIT_MS;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error('it did not come to be in time');
    await sleep(STEP_MS);
  }
}
