/** A consumer goes on fetching while its group rejoins. That it rejoins when it is told to: test/promises/i5-outage.test.ts. */
import { randomUUID } from 'node:crypto';
import kafkajs, { type Assigner, type Consumer, type PartitionAssigner } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectKafka, createTopic, useAdmin } from './local-kafka.ts';

const { AssignerProtocol } = kafkajs;
const SESSION_MS = 30_000;
/** Of one that keeps the others waiting: until its heartbeat it does not know that another joins. */
const SLOW_HEARTBEAT_MS = 8_000;
const QUICK_HEARTBEAT_MS = 100;
const GROUP_MS_MAX = 20_000;

const kafka = connectKafka();
const { admin } = useAdmin(kafka);
const producer = kafka.producer();
beforeAll(() => producer.connect());
afterAll(() => producer.disconnect());

/** Gives the one partition to the first member by the word that it announces. */
function assignerOf(word: string): PartitionAssigner {
  return (): Assigner => ({
    name: 'by-word',
    version: 1,
    protocol: ({ topics }) => ({
      name: 'by-word',
      metadata: AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.from(word) }),
    }),
    assign: async ({ members, topics }) => {
      const words = members.map(({ memberId, memberMetadata }) => ({
        memberId,
        word: AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData.toString() ?? '',
      }));
      const [first] = words.toSorted((left, right) => (left.word < right.word ? -1 : 1));
      return words.map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: 1,
          assignment: Object.fromEntries(topics.map((topic) => [topic, memberId === first?.memberId ? [0] : []])),
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

interface Joined {
  readonly consumer: Consumer;
  readonly values: string[];
}

async function join(
  given: { groupId: string; topic: string },
  word: string,
  heartbeatInterval: number,
): Promise<Joined> {
  const consumer = connectKafka().consumer({
    groupId: given.groupId,
    sessionTimeout: SESSION_MS,
    heartbeatInterval,
    maxWaitTimeInMs: 100,
    partitionAssigners: [assignerOf(word)],
  });
  const values: string[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic: given.topic, fromBeginning: true });
  await consumer.run({
    fetchWhileJoining: true,
    eachMessage: async ({ message }) => void values.push(message.value?.toString() ?? ''),
  });
  return { consumer, values };
}

async function state(groupId: string): Promise<string> {
  const { groups } = await admin.describeGroups([groupId]);
  return groups[0]?.state ?? '';
}

const send = (topic: string, value: string): Promise<unknown> => producer.send({ topic, messages: [{ value }] });

test('messages that come while the group waits for a slow member are handed over meanwhile', async () => {
  const given = { groupId: `patches-${randomUUID()}`, topic: await createTopic(kafka) };
  const joined: Joined[] = [];
  try {
    const reads = await join(given, 'a', QUICK_HEARTBEAT_MS);
    joined.push(reads);
    joined.push(await join(given, 'b', SLOW_HEARTBEAT_MS));
    await expect.poll(() => state(given.groupId), { timeout: GROUP_MS_MAX }).toBe('Stable');
    await send(given.topic, 'before');
    await expect.poll(() => reads.values, { timeout: GROUP_MS_MAX }).toContain('before');
    const third = join(given, 'c', QUICK_HEARTBEAT_MS);
    await expect.poll(() => state(given.groupId), { timeout: GROUP_MS_MAX }).toBe('PreparingRebalance');
    // Enough for the reader to have noticed it, and to wait for the slow one itself.
    await new Promise((resolve) => setTimeout(resolve, QUICK_HEARTBEAT_MS * 5));
    await send(given.topic, 'meanwhile');
    await expect.poll(() => reads.values, { timeout: GROUP_MS_MAX }).toContain('meanwhile');
    expect(await state(given.groupId)).toBe('PreparingRebalance');
    joined.push(await third);
    await expect.poll(() => state(given.groupId), { timeout: GROUP_MS_MAX }).toBe('Stable');
    await send(given.topic, 'after');
    await expect.poll(() => reads.values, { timeout: GROUP_MS_MAX }).toContain('after');
  } finally {
    await Promise.all(joined.map(({ consumer }) => consumer.disconnect()));
  }
}, 90_000);
