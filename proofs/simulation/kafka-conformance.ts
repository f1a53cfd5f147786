/** Checks what lanes rely on in transactions and groups, for both the real Kafka and the simulated one. */
import { expect } from 'vitest';
import type { FetchedBatch, FilteredRecords } from '../../src/consumers/group-member.ts';
import { sleep } from '../../src/consumers/signal.ts';
import { TopicOffsets } from '../../src/consumers/topic-offsets.ts';
import { systemClock } from 'payment-processor-contract/clock';
import { TransactionFailedError } from '../../src/producers/transactional-producer.ts';
import { kafkaTools, SESSION_TIMEOUT_MS, SETTLE_MS, silent, taken, until, type KafkaInTest } from './kafka-in-test.ts';

export function testKafka(kafka: () => KafkaInTest): void {
  const { commit, kafkaTest, memberOf, openTransaction, producerOf, published, record, valuesOf } = kafkaTools(kafka);

  kafkaTest('what is committed is read in the order of its partition', async ({ id, topic }) => {
    await kafka().makeTopic(topic, 2);
    const producer = producerOf(id);
    await producer.open();
    await commit(producer, record(topic, 'a'), record(topic, 'b'));
    await commit(producer, record(topic, 'c'), record(topic, 'd', 1));
    await producer.close();
    await until(async () => (await valuesOf(topic)).length === 4);
    expect((await valuesOf(topic)).filter((value) => value !== 'd')).toEqual(['a', 'b', 'c']);
  });

  kafkaTest(
    'the next producer of a transactional id fences the previous producer, which commits nothing any more',
    async ({ id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const [former, next] = [producerOf(id), producerOf(id)];
      await former.open();
      await commit(former, record(topic, 'former'));
      await next.open();
      await commit(next, record(topic, 'next'));
      await expect(commit(former, record(topic, 'too late'))).rejects.toThrow(TransactionFailedError);
      await expect(commit(former, record(topic, 'even later'))).rejects.toThrow(TransactionFailedError);
      await Promise.all([former.close(), next.close()]);
      await until(async () => (await valuesOf(topic)).length === 2);
      expect(await valuesOf(topic)).toEqual(['former', 'next']);
    },
  );

  kafkaTest(
    'a producer that is fenced by name commits nothing more, what it left open included',
    async ({ id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const open = await openTransaction(id, topic, 'left open');
      await producerOf(id).fence();
      await published(topic, `${id}-other`, ['other']);
      await until(async () => (await valuesOf(topic)).length > 0);
      expect(await valuesOf(topic)).toEqual(['other']);
      await expect(open.commit()).rejects.toThrow();
    },
  );

  kafkaTest('a transaction that a producer left open is aborted by the next one', async ({ id, topic }) => {
    await kafka().makeTopic(topic, 1);
    const open = await openTransaction(id, topic, 'left open');
    await published(topic, id, ['next']);
    await expect(open.commit()).rejects.toThrow();
    await until(async () => (await valuesOf(topic)).length > 0);
    expect(await valuesOf(topic)).toEqual(['next']);
  });

  kafkaTest(
    'readers see nothing behind a transaction that is open, not even what is committed',
    async ({ id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const open = await openTransaction(id, topic, 'first');
      await published(topic, `${id}-other`, ['second']);
      await sleep(SETTLE_MS);
      expect(await valuesOf(topic)).toEqual([]);
      await open.commit();
      await until(async () => (await valuesOf(topic)).length === 2);
      expect(await valuesOf(topic)).toEqual(['first', 'second']);
    },
  );

  kafkaTest('a member tells the group its offsets, and is known by name while it is a member', async (given) => {
    const { groupId, topic } = given;
    await kafka().makeTopic(topic, 1);
    const offsets = new TopicOffsets(kafka().settings, { groupId, clientId: groupId, clock: systemClock, log: silent });
    const lanes: (readonly number[])[] = [[], []];
    const members = lanes.map((_, index) =>
      memberOf(topic, groupId, 1, { assigned: (assigned) => void (lanes[index] = assigned) }),
    );
    await Promise.all(members.map((member) => member.start()));
    await until(async () => (await offsets.members()).length === 2);
    await until(() => lanes.flat().length === 1);
    // The first member has the lane alone until the second joins. Between the two generations its offsets are refused.
    await until(async () => {
      const owner = members[lanes[0]?.length === 1 ? 0 : 1];
      await owner?.commitOffsets([{ topic, lane: 0, offset: 5n }]).catch(() => undefined);
      return (await offsets.startOf(topic, 0)).committedOffset === 5n;
    });
    await members[0]?.stop();
    await until(async () => (await offsets.members()).length === 1);
    const process = expect.stringMatching(/^a-host\.[\da-f]{8}$/) as string;
    expect((await offsets.members())[0]).toMatchObject({ process });
    await Promise.all([members[1]?.stop(), offsets.stop()]);
  });

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
      await published(topic, id, ['a', 'b', 'c']);
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
      await published(topic, id, ['d']);
      await until(() => taken(batches).length === 3);
      await member.stop();
      expect(taken(batches)).toEqual(['b', 'c', 'd']);
      expect(batches[0]?.fetchedOffset).toBe(2n);
      for (const batch of batches)
        for (const { offset } of batch.messages) expect(BigInt(offset)).toBeLessThanOrEqual(batch.lastOffset);
    },
  );

  kafkaTest(
    'a fetch with nothing but aborted and control records is reported, not handed over',
    async ({ groupId, id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const open = await openTransaction(id, topic, 'aborted');
      await published(topic, id, ['kept']);
      await expect(open.commit()).rejects.toThrow();
      const passed: FilteredRecords[] = [];
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
        filtered: (records) => void passed.push(records),
      });
      await member.start();
      await until(() => passed.some(({ lastOffset }) => lastOffset === 3n));
      await member.stop();
      expect(batches).toEqual([]);
      expect(passed).toContainEqual(expect.objectContaining({ lane: 0, fetchedOffset: 3n, lastOffset: 3n }));
    },
  );
}
