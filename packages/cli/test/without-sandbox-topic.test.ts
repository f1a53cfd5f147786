/** Without SANDBOX_COMMANDS the sandbox command's topic may be missing, or somebody may have made it with any number of partitions. */
import { expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { keysOfLane, transferInOf } from '../../../test/support/commands.ts';
import { deleteTopic } from '../../../test/support/delete-topic.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli } from './run-cli.ts';

const stack = useStack({ name: 'no-sandbox', settings: { SANDBOX_COMMANDS: 'false' } });

test('a paid key is found without that topic, and where it has one partition; create refuses another number of lanes', async () => {
  const { environment, journal, kafka, publisher, topics } = stack();
  const sandboxTopic = topics.commands['simulate-uma-receive'];
  await deleteTopic(kafka, sandboxTopic);
  await stack().startProcessor();
  const [key = ''] = keysOfLane('paid', 1, 1);
  await publisher.publish('transfer-in', key, transferInOf(key));
  const id = (await journal.result(key)).value.transaction?.id ?? '';
  const expectFound = async (...words: string[]): Promise<void> => {
    const run = await runCli(environment, '--output', 'json', ...words);
    expect(run, run.stderr).toMatchObject({ code: 0 });
    expect(run.stdout).toContain('ACCEPTED');
  };
  await expectFound('show', key);
  await expectFound('show', '--transaction', id);

  expect(await runCli(environment, 'lag')).toMatchObject({ code: 0 });

  const other = await runCli({ ...environment, LANES: '2' }, 'topics', 'create');
  expect(other.code).toBe(78);
  expect(other.stderr).toMatch(/nothing was created: LANES is 2, but all \d+ topics of \S+ have 3 partitions/);
  const listed = await withAdmin(kafka, (admin) => admin.listTopics());
  expect(listed).not.toContain(sandboxTopic);

  await withAdmin(kafka, (admin) => admin.createTopics({ topics: [{ topic: sandboxTopic, numPartitions: 1 }] }));
  await expectFound('show', key);
  await expectFound('results', '--key', key);
  await expectFound('ledger', 'show', key);
  expect(await runCli(environment, 'topics', 'check')).toMatchObject({ code: 0 });

  // Kafka also hides topics from a user without rights: their commands are no lag of 0.
  await deleteTopic(kafka, topics.commands['transfer-in']);
  const uncounted = await runCli(environment, 'lag');
  expect(uncounted.code).toBe(1);
  expect(uncounted.stderr).toMatch(/not counted: topic \S+transfer-in\.v1 missing/);
});
