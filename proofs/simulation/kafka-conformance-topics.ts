/** Checks of topics and their records, for both the real Kafka and the simulated one. */
import { expect } from 'vitest';
import type { FetchedBatch } from '../../src/consumers/group-member.ts';
import { lossOf } from '../../src/lanes/commits/troubles.ts';
import { TopicOffsets } from '../../src/consumers/topic-offsets.ts';
import { systemClock } from 'payment-processor-contract/clock';
import { batchName, encodeBatches } from '../../src/producers/record-batch.ts';
import { TransactionFailedError } from '../../src/producers/transactional-producer.ts';
import { kafkaTools, silent, taken, until, type KafkaInTest } from './kafka-in-test.ts';

const BATCH_BYTES_MAX = 10_000;
/** The time of a producer with a wrong clock, milliseconds since 1970. */
const LONG_AGO_MS = 1_000_000;
/** Rolls a segment for nearly every record, and compacts as soon as possible. */
const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.ms': '100',
  'min.cleanable.dirty.ratio': '0.001',
  'delete.retention.ms': '0',
};

export function testTopics(kafka: () => KafkaInTest): void {
  const { administer, commit, kafkaTest, memberOf, producerOf, published, record, valuesOf } = kafkaTools(kafka);
  const offsetsOf = (groupId: string): TopicOffsets =>
    new TopicOffsets(kafka().settings, { groupId, clientId: groupId, clock: systemClock, log: silent });
  /** All batches that a member receives from the offset it seeks. */
  const fetchedFrom = async (
    { groupId, topic }: { groupId: string; topic: string },
    offset: bigint,
    isEnough: (batches: readonly FetchedBatch[]) => boolean,
  ): Promise<FetchedBatch[]> => {
    const batches: FetchedBatch[] = [];
    const member = memberOf(topic, groupId, 1, {
      assigned: () => {
        member.seek(topic, 0, offset);
        member.resume(topic, 0);
      },
      batch: (batch) => {
        batches.push(batch);
        return 'taken';
      },
    });
    await member.start();
    await until(() => isEnough(batches));
    await member.stop();
    return batches;
  };

  kafkaTest('a batch that is larger than its topic takes is refused by name', async ({ id, topic }) => {
    await kafka().makeTopic(topic, 1, { 'max.message.bytes': String(BATCH_BYTES_MAX) });
    const producer = producerOf(id);
    await producer.open();
    await commit(producer, record(topic, 'x'.repeat(BATCH_BYTES_MAX / 4)));
    const refused: unknown = await commit(producer, record(topic, 'x'.repeat(BATCH_BYTES_MAX / 3))).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(TransactionFailedError);
    expect(typesOf(refused)).toContain('MESSAGE_TOO_LARGE');
    expect(lossOf(refused)).toBe('refused');
    await producer.close();
    await published(topic, id, ['after']);
    await until(async () => (await valuesOf(topic)).length === 2);
    expect((await valuesOf(topic))[1]).toBe('after');
  });

  kafkaTest(
    'records have the time of their broker where the topic says so, else that of their producer',
    async ({ id, topic }) => {
      for (const timestampType of ['LogAppendTime', 'CreateTime'] as const) {
        const named = `${topic}-${timestampType}`;
        await kafka().makeTopic(named, 1, { 'message.timestamp.type': timestampType });
        const [producer, sent] = [producerOf(`${id}-${timestampType}`), record(named, 'a')];
        await producer.open();
        const written = await producer.commit([], async () => encodeBatches([sent], LONG_AGO_MS));
        expect((written.get(batchName(named, 0))?.timestampMs ?? 0) > 0).toBe(timestampType === 'LogAppendTime');
        await producer.close();
        const batches = await fetchedFrom(
          { groupId: named, topic: named },
          0n,
          (fetched) => taken(fetched).length === 1,
        );
        const [first] = batches[0]?.messages ?? [];
        const isBrokers = Number(first?.timestamp) > LONG_AGO_MS;
        expect(isBrokers).toBe(timestampType === 'LogAppendTime');
        // The client's types lack this field, but the reader of the ledger relies on it.
        expect(first).toMatchObject({ batchContext: { timestampType: isBrokers ? 1 : 0 } });
      }
    },
  );

  kafkaTest(
    'headers are read as they were written, without a value and of any name',
    async ({ groupId, id, topic }) => {
      await kafka().makeTopic(topic, 1);
      const producer = producerOf(id);
      await producer.open();
      await commit(producer, { ...record(topic, 'a'), headers: { none: null, constructor: 'b' } });
      await producer.close();
      const batches = await fetchedFrom({ groupId, topic }, 0n, (fetched) => taken(fetched).length === 1);
      const [message] = batches.flatMap(({ messages }) => messages);
      expect({ ...message?.headers }).toEqual({ none: null, constructor: Buffer.from('b') });
    },
  );

  kafkaTest(
    'records that are deleted are gone: who stood before them goes on with the first that is left',
    async (given) => {
      const { groupId, id, topic } = given;
      await kafka().makeTopic(topic, 1);
      await published(topic, id, ['a', 'b', 'c']);
      await administer(topic, async (admin) => {
        // Makes the client learn the topic's leaders.
        await admin.fetchTopicOffsets(topic);
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '4' }] });
      });
      const offsets = offsetsOf(groupId);
      expect((await offsets.startOf(topic, 0)).lowOffset).toBe(4n);
      await offsets.stop();
      const batches = await fetchedFrom(given, 1n, (fetched) => taken(fetched).length === 1);
      expect(taken(batches)).toEqual(['c']);
      expect(batches[0]?.fetchedOffset).toBe(4n);
    },
  );

  kafkaTest('the leader epoch of what is read ends where the topic does; one to come is not known', async (given) => {
    const { groupId, id, topic } = given;
    await kafka().makeTopic(topic, 1);
    await published(topic, id, ['a', 'b']);
    const [first] = await fetchedFrom(given, 0n, (fetched) => taken(fetched).length > 0);
    const epoch = first?.leaderEpoch ?? -1;
    expect(epoch).toBeGreaterThanOrEqual(0);
    const offsets = offsetsOf(groupId);
    // Each record is followed by its transaction's marker.
    await until(async () => (await offsets.epochEnd(topic, 0, epoch)) === 4n);
    expect(await offsets.epochEnd(topic, 0, epoch + 1)).toBe(-1n);
    await offsets.stop();
  });

  kafkaTest('a topic that is deleted and made again begins at 0, and the group has no offset in it', async (given) => {
    const { groupId, id, topic } = given;
    await kafka().makeTopic(topic, 1);
    await published(topic, id, ['a']);
    const member = memberOf(topic, groupId, 1, {});
    await member.start();
    const before = offsetsOf(groupId);
    // Refused until the member has joined.
    await until(async () => {
      await member.commitOffsets([{ topic, lane: 0, offset: 1n }]).catch(() => undefined);
      return (await before.startOf(topic, 0)).committedOffset === 1n;
    });
    await member.stop();
    await before.stop();
    await administer(topic, (admin) => admin.deleteTopics({ topics: [topic] }));
    await until(async () => !(await administer(topic, (admin) => admin.listTopics())).includes(topic));
    await kafka().makeTopic(topic, 1);
    await published(topic, `${id}-again`, ['b']);
    const offsets = offsetsOf(groupId);
    expect(await offsets.startOf(topic, 0)).toMatchObject({ lowOffset: 0n, committedOffset: null });
    await offsets.stop();
    // Beyond its end: out of range.
    const batches = await fetchedFrom(given, 7n, (fetched) => taken(fetched).length === 1);
    expect(taken(batches)).toEqual(['b']);
    expect(batches[0]?.fetchedOffset).toBe(0n);
  });

  kafkaTest(
    'compaction leaves the last record of each key; the offsets of the others are passed over',
    async (given) => {
      const { id, topic } = given;
      await kafka().makeTopic(topic, 1, COMPACTED);
      await published(topic, id, ['a', 'a', 'b', 'a', 'c', 'd']);
      await until(async () => {
        // A later record closes a segment.
        await published(topic, id, ['e']);
        kafka().compact(topic);
        return (await valuesOf(topic)).filter((value) => value === 'a').length === 1;
      });
      expect((await valuesOf(topic)).slice(0, 4)).toEqual(['b', 'a', 'c', 'd']);
      const batches = await fetchedFrom(given, 2n, (fetched) => taken(fetched).length >= 4);
      const [first] = batches.flatMap(({ messages }) => messages);
      expect(first?.offset).toBe('4');
      // An answer without records may end with the batch around the gap, or with the marker behind it.
      expect([2n, 3n, 4n]).toContain(batches[0]?.fetchedOffset);
    },
  );
}

/** Names of the protocol's errors, the innermost last. */
function typesOf(error: unknown): unknown[] {
  const types: unknown[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) types.push((cause as { type?: unknown }).type);
  return types;
}
