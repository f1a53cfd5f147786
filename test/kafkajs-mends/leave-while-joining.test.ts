/** A consumer that is disconnected while it joins its group leaves it: the others need not wait for its session. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { connectKafka, createTopic, useAdmin } from './local-kafka.ts';

/** Longer than the test: a member that does not leave is counted until its session is over. */
const SESSION_MS = 60_000;
/** A member that is there notices at its next heartbeat that another joins; until then the other's join is under way. */
const HEARTBEAT_MS = 3_000;
const GROUP_MS_MAX = 15_000;

const kafka = connectKafka();
const { admin } = useAdmin(kafka);

test('the group is whole again soon after one that joined was disconnected', async () => {
  const topic = await createTopic(kafka);
  const groupId = `mends-${randomUUID()}`;
  const join = async (): Promise<{ joined: Promise<void>; disconnect: () => Promise<void> }> => {
    const consumer = connectKafka().consumer({
      groupId,
      sessionTimeout: SESSION_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: 100,
    });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    return { joined: consumer.run({ eachMessage: async () => undefined }), disconnect: () => consumer.disconnect() };
  };
  const group = async (): Promise<{ state: string; members: number }> => {
    const { groups } = await admin.describeGroups([groupId]);
    return { state: groups[0]?.state ?? '', members: groups[0]?.members.length ?? 0 };
  };
  const stays = await join();
  try {
    await stays.joined;
    await expect.poll(group, { timeout: GROUP_MS_MAX }).toEqual({ state: 'Stable', members: 1 });
    const leaves = await join();
    leaves.joined.catch(() => undefined);
    await expect.poll(group, { timeout: HEARTBEAT_MS }).toEqual({ state: 'PreparingRebalance', members: 2 });
    await leaves.disconnect();
    await expect.poll(group, { timeout: GROUP_MS_MAX }).toEqual({ state: 'Stable', members: 1 });
  } finally {
    await stays.disconnect();
  }
});
