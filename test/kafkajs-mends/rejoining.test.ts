/** A consumer goes on fetching while its group rejoins, and rejoins when it has something new to announce to the group. */
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
function assignerOf(word: () => string): PartitionAssigner {
  return (): Assigner => ({
    name: 'by-word',
    version: 1,
    protocol: ({ topics }) => ({
      name: 'by-word',
      metadata: AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.from(word()) }),
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
  word: () => string,
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

/** Sends until the reader has it: the partition is with another until the group has changed. */
async function reaches(topic: string, { values }: Joined, value: string): Promise<void> {
  for (let count = 0; !values.includes(value); count += 1) {
    await send(topic, value);
    await new Promise((resolve) => setTimeout(resolve, QUICK_HEARTBEAT_MS));
    if (count > GROUP_MS_MAX / QUICK_HEARTBEAT_MS) throw new Error('the partition was not given to the member');
  }
}

test('messages that come while the group waits for a slow member are handed over meanwhile', async () => {
  const given = { groupId: `mends-${randomUUID()}`, topic: await createTopic(kafka) };
  const joined: Joined[] = [];
  try {
    const reads = await join(given, () => 'a', QUICK_HEARTBEAT_MS);
    joined.push(reads);
    joined.push(await join(given, () => 'b', SLOW_HEARTBEAT_MS));
    await expect.poll(() => state(given.groupId), { timeout: GROUP_MS_MAX }).toBe('Stable');
    await send(given.topic, 'before');
    await expect.poll(() => reads.values, { timeout: GROUP_MS_MAX }).toContain('before');
    const third = join(given, () => 'c', QUICK_HEARTBEAT_MS);
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

test('a member announces something new by rejoining its group: the partition goes to another, and comes back', async () => {
  const given = { groupId: `mends-${randomUUID()}`, topic: await createTopic(kafka) };
  const joined: Joined[] = [];
  try {
    let word = 'a';
    const gives = await join(given, () => word, QUICK_HEARTBEAT_MS);
    joined.push(gives);
    const takes = await join(given, () => 'b', QUICK_HEARTBEAT_MS);
    joined.push(takes);
    await expect.poll(() => state(given.groupId), { timeout: GROUP_MS_MAX }).toBe('Stable');
    await send(given.topic, 'first');
    await expect.poll(() => gives.values, { timeout: GROUP_MS_MAX }).toContain('first');
    expect(takes.values).toEqual([]);
    word = 'c';
    gives.consumer.rejoin();
    await reaches(given.topic, takes, 'second');
    // Heard of a member without a partition as well.
    word = 'a';
    gives.consumer.rejoin();
    await reaches(given.topic, gives, 'third');
  } finally {
    await Promise.all(joined.map(({ consumer }) => consumer.disconnect()));
  }
}, 60_000);
