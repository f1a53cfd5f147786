/** A ledger that was lost and made again: the lists of what waits for people do not call it whole. In virtual time. */
import { expect } from 'vitest';
import { readSomeSettings } from 'payment-processor-contract/config';
import { publishTransfers } from '../../../test/support/commands.ts';
import { eventually } from '../../../test/support/watch.ts';
import { stackTests } from '../../../test/support/with-stack.ts';
import { CLI_SETTING_NAMES } from '../src/context.ts';
import { checkUnknownResults } from '../src/doctor/people-checks.ts';
import { readUnknownResults } from '../src/ledger.ts';

const { stack: open, test } = stackTests({ name: 'remade', lanes: 2 });
const READ_FOR_MS = 30_000;

test('before its lanes stop and after, but not for lanes that had no command yet', async () => {
  const stack = open();
  const settings = readSomeSettings(stack.environment, CLI_SETTING_NAMES);
  if (!settings.ok) throw new Error(settings.problems.join('; '));
  const cutsNow = async (): Promise<string> => (await readUnknownResults(settings.config, READ_FOR_MS)).cuts.join();
  const first = await stack.startProcessor();
  await eventually(cutsNow, (cuts) => cuts === '', 'a whole ledger', 60_000);
  await stack.journal.resultsOfAll(await publishTransfers(stack, 'before', 20));
  await first.stop();

  await stack.makeTopicAgain(stack.topics.ledger);
  expect(await cutsNow()).toContain('or which was lost');
  const next = await stack.spawnProcessor();
  await eventually(
    () => next.readiness(),
    ({ reasons }) => reasons.filter((reason) => reason.includes('the ledger topic was lost')).length === 2,
    'two stopped lanes',
    60_000,
  );
  expect(await cutsNow()).toContain('or which was lost');
  expect(await checkUnknownResults(settings.config)).toMatchObject({ status: 'not-checked' });
});
