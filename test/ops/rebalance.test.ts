/** Processes that join and leave the group: no errors where nothing is wrong, and no lane waits for who has left. */
import { expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { LogLine } from '../support/processor.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';

/** Who does not say that it leaves is a member until its session is over, or another time-out of the broker's. */
const SESSION_MS = 60_000;
/** A member notices at its next heartbeat that another joins; until then the other's join is under way. */
const HEARTBEAT_MS = 6_000;
const GROUP_MS_MAX = 30_000;

const stack = useStack({
  name: 'rebalance',
  // On a busy machine a short session might end, which is no ordinary rebalance.
  settings: { LOG_LEVEL: 'debug', KAFKA_SESSION_TIMEOUT_MS: '10000' },
});
const slowly = {
  KAFKA_SESSION_TIMEOUT_MS: String(SESSION_MS),
  KAFKA_HEARTBEAT_INTERVAL_MS: String(HEARTBEAT_MS),
};

async function group(): Promise<{ state: string; members: number }> {
  const groupId = stack().environment['KAFKA_GROUP_ID'] ?? '';
  const { groups } = await withAdmin(stack().kafka, (admin) => admin.describeGroups([groupId]));
  return { state: groups[0]?.state ?? '', members: groups[0]?.members.length ?? 0 };
}

test('a process that is stopped while it joins leaves the group before it ends: nobody waits for it', async () => {
  const stays = await stack().startProcessor(slowly);
  const joins = await stack().spawnProcessor(slowly);
  await expect
    .poll(group, { timeout: GROUP_MS_MAX, interval: 50 })
    .toEqual({ state: 'PreparingRebalance', members: 2 });
  expect(await joins.stop()).toEqual({ code: 0, signal: null });
  expect((await group()).members).toBe(1);
  await expect.poll(() => stays.assignedLanes(), { timeout: GROUP_MS_MAX }).toHaveLength(LANES);
  await stack().endProcessors();
});

test('an ordinary rebalance is no error, and the client says why at a level of its own', async () => {
  const first = await stack().startProcessor();
  const second = await stack().startProcessor();
  await expect
    .poll(() => first.assignedLanes().length + second.assignedLanes().length, { timeout: GROUP_MS_MAX })
    .toBe(LANES);
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  await expect.poll(() => second.assignedLanes(), { timeout: GROUP_MS_MAX }).toHaveLength(LANES);
  const third = await stack().startProcessor();
  expect(await second.stop()).toEqual({ code: 0, signal: null });
  await expect.poll(() => third.assignedLanes(), { timeout: GROUP_MS_MAX }).toHaveLength(LANES);
  const lines = [first, second, third].flatMap((processor) => processor.log() as (LogLine & { level: string })[]);
  expect(lines.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  const heartbeats = lines.filter(({ msg }) => String(msg).startsWith('Response Heartbeat'));
  expect(heartbeats.map(({ problem }) => problem)).toContain('The group is rebalancing, so a rejoin is needed');
});
