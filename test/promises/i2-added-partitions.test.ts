/** Invariant I2 where partitions were added to every topic: with another LANES, lanes would not know the keys of before. */
import { expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { startCli } from '../../packages/cli/test/run-cli.ts';
import { transferInOf } from '../support/commands.ts';
import { useStack } from '../support/test-stack.ts';

const LANES = 3;
const ADDED_TO = 6;
const KEYS = Array.from({ length: LANES * 2 }, (_, index) => `invoice-${index}`);

const stack = useStack({ name: 'added', lanes: LANES });

test('no process starts with as many lanes as the topics have now, and no remedy names that number', async () => {
  const before = await stack().startProcessor();
  for (const key of KEYS) await stack().publisher.publish('transfer-in', key, transferInOf(key));
  await stack().journal.resultsOfAll(KEYS);
  await before.stop();
  const prefix = `${stack().settings.TOPIC_PREFIX}.`;
  await withAdmin(stack().kafka, async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    await admin.createPartitions({ topicPartitions: topics.map((topic) => ({ topic, count: ADDED_TO })) });
  });

  const checked = await startCli(stack().environment, 'topics', 'check').ended;
  expect(checked.stdout + checked.stderr).toMatch(
    /have 6 partitions: set LANES to the number that this prefix was created/,
  );
  for (const folder of ['', '-lost']) {
    const stateDirectory = `${stack().environment['STATE_DIR'] ?? ''}${folder}`;
    const started = await stack().spawnProcessor({ LANES: String(ADDED_TO), STATE_DIR: stateDirectory });
    expect(await started.ended).toMatchObject({ code: 78 });
    expect(started.tail()).toMatch(/LANES is 6, but the commands of .* were divided among 3 lanes/);
  }
});
