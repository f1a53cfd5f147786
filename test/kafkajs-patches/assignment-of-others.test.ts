/** A group's leader may send bytes that are no assignment: its members have no partitions then, and stay. */
import { randomUUID } from 'node:crypto';
import kafkajs, { type Consumer, type PartitionAssigner } from 'kafkajs';
import { expect, test } from 'vitest';
import { connectKafka, createTopic } from './local-kafka.ts';

const { AssignerProtocol } = kafkajs;
const PROTOCOL = 'of-the-test';
const JOINED_MS_MAX = 15_000;
/** Not one of them is an assignment; in some a length says more than there is. */
const JUNK = ['', '00', '0000ffffffff77', '00007fffffff', '00000000000100ff', 'ffffffffffffffffffff'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** Keeps everything to itself, and writes this for all others. */
function assigning(name: string, junk: Buffer, topic: string): PartitionAssigner {
  const metadata = { version: 1, topics: [topic], userData: Buffer.from(name) };
  const own = { version: 1, assignment: { [topic]: [0] }, userData: Buffer.alloc(0) };
  return () => ({
    name: PROTOCOL,
    version: 1,
    protocol: () => ({ name: PROTOCOL, metadata: AssignerProtocol.MemberMetadata.encode(metadata) }),
    assign: async ({ members }) =>
      members.map(({ memberId, memberMetadata }) => ({
        memberId,
        memberAssignment: memberMetadata.includes(name) ? AssignerProtocol.MemberAssignment.encode(own) : junk,
      })),
  });
}

async function joined(
  name: string,
  groupId: string,
  topic: string,
  junk: Buffer,
): Promise<{ consumer: Consumer; told: string[] }> {
  const told: string[] = [];
  const consumer = connectKafka().consumer({
    groupId,
    partitionAssigners: [assigning(name, junk, topic)],
    heartbeatInterval: 300,
    maxWaitTimeInMs: 100,
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => void told.push(`crashed: ${payload.error.message}`));
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => void told.push(JSON.stringify(payload.memberAssignment)));
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({ eachMessage: async () => undefined });
  return { consumer, told };
}

test.each(JUNK)('%o: a member without partitions, until another leads', async (junk) => {
  const topic = await createTopic(connectKafka());
  const groupId = `patches-${randomUUID()}`;
  const leader = await joined('leader', groupId, topic, junk);
  // Else the other may lead. A broker that has just begun may load its coordinator first, and make the consumer start again.
  await expect.poll(() => leader.told.at(-1), { timeout: JOINED_MS_MAX }).toBe(JSON.stringify({ [topic]: [0] }));
  const member = await joined('member', groupId, topic, junk);
  try {
    await expect.poll(() => member.told, { timeout: JOINED_MS_MAX }).toEqual(['{}']);
    await leader.consumer.disconnect();
    await expect.poll(() => member.told.at(-1), { timeout: JOINED_MS_MAX }).toBe(JSON.stringify({ [topic]: [0] }));
    expect(member.told.filter((text) => text.startsWith('crashed'))).toEqual([]);
  } finally {
    await Promise.all([leader.consumer.disconnect(), member.consumer.disconnect()]);
  }
});
