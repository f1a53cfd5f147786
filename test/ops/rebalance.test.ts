/** A process that stops while it joins the group leaves it, so that no lane waits for an absent member. */
import { expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';

/** A process that does not leave stays a member until its session or another of the broker's timeouts expires. */
const SESSION_MS = 60_000;
const GROUP_MS_MAX = 30_000;

const stack = useStack({ name: 'rebalance' });
const slowly = { KAFKA_SESSION_TIMEOUT_MS: String(SESSION_MS) };

async function group(): Promise<{ state: string; members: number }> {
  const groupId = stack().environment['KAFKA_GROUP_ID'] ?? '';
  const { groups } = await withAdmin(stack().kafka, (admin) => admin.describeGroups([groupId]));
  return { state: groups[0]?.state ?? '', members: groups[0]?.members.length ?? 0 };
}

test('a process that is stopped while it joins leaves the group before it exits: nothing waits for it', async () => {
  const stays = await stack().startProcessor(slowly);
  // A frozen member does not notice that another one joins, so the join stays under way.
  stays.freeze();
  const joins = await stack().spawnProcessor(slowly);
  await expect
    .poll(group, { timeout: GROUP_MS_MAX, interval: 50 })
    .toEqual({ state: 'PreparingRebalance', members: 2 });
  const ended = joins.stop();
  await joins.logged('ending');
  stays.thaw();
  expect(await ended).toEqual({ code: 0, signal: null });
  expect((await group()).members).toBe(1);
  await expect.poll(() => stays.assignedLanes(), { timeout: GROUP_MS_MAX }).toHaveLength(LANES);
});
