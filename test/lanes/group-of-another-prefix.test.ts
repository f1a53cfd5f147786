/** A group shares its lanes out among all its members: a process of another TOPIC_PREFIX would be given lanes that it does not read. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { LANES, Stack } from '../support/stack.ts';

const kafka = (): { kafkaBrokers: string[]; schemaRegistryUrl: string } => ({
  kafkaBrokers: inject('kafkaBrokers'),
  schemaRegistryUrl: inject('schemaRegistryUrl'),
});
let serves: Stack;
let other: Stack;
beforeAll(async () => {
  serves = await Stack.open({ name: 'serves', ...kafka() });
  other = await Stack.open({ name: 'other-prefix', ...kafka() });
});
afterAll(() => Promise.all([serves.close(), other.close()]));

test('a process of another prefix does not join the group, and says which setting to change', async () => {
  const member = await serves.startProcessor();
  const { KAFKA_GROUP_ID = '' } = serves.environment;
  const stranger = await other.spawnProcessor({ KAFKA_GROUP_ID });
  const end = await stranger.ended;
  expect({ ...end, tail: stranger.tail() }).toMatchObject({ code: 78 });
  expect(stranger.tail()).toContain(
    `KAFKA_GROUP_ID ${KAFKA_GROUP_ID} is also used by a process that reads ${serves.topics.commands['create-quote']}`,
  );
  expect(member.openedLanes()).toHaveLength(LANES);
  expect(member.assignedLanes()).toHaveLength(LANES);
  // A second process of its own prefix is welcome.
  await (await serves.startProcessor()).ready();
});
