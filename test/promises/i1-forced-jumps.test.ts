/**
 * Invariant I1 where the broker takes an input away under open lanes: they stop and say why, rather than take what is published
 * afterwards for redeliveries. Through a real Kafka and its client; what else can happen to a topic is tried in virtual time
 * (i1-forced-jumps-simulated.test.ts).
 */
import { expect, test } from 'vitest';
import { publishTransfers } from '../support/commands.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'jump', lanes: 2 });

test('a command topic that is made again stops its lanes, and is not asked for what it lacks again and again', async () => {
  const processor = await stack().startProcessor();
  await stack().journal.resultsOfAll(await publishTransfers(stack(), 'before', 20));
  await stack().makeTopicAgain(stack().topics.commands['transfer-in']);
  await publishTransfers(stack(), 'after', 4);
  const { reasons } = await eventually(
    () => processor.readiness(),
    (told) => told.reasons.filter((reason) => reason.includes('is stopped')).length === 2,
    'two stopped lanes',
  );
  expect(reasons.filter((reason) => reason.includes('deleted and recreated'))).toHaveLength(2);
  const sought = processor.log().filter(({ msg }) => String(msg).includes('Offset out of range'));
  expect(sought.length).toBeGreaterThan(0);
  expect(sought.length).toBeLessThan(200);
});
