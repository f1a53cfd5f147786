/** `hold` and `release` against a real Kafka: whom they wait for, and what the payment service hears meanwhile. */
import { expect, test } from 'vitest';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { transferInOf } from '../../../test/support/commands.ts';
import { LANES } from '../../../test/support/stack-options.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli, startCli, type CliRun } from './run-cli.ts';

const stack = useStack({ name: 'hold' });
/** As an operator has it whose registry is down. */
const environment = (): Record<string, string> => {
  const { KAFKA_BROKERS = '', KAFKA_GROUP_ID = '', TOPIC_PREFIX = '' } = stack().environment;
  return { KAFKA_BROKERS, KAFKA_GROUP_ID, TOPIC_PREFIX };
};
const cli = (...args: string[]): Promise<CliRun> => runCli(environment(), '--output', 'json', ...args);

const keys: string[] = [];

async function publish(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const key = `held-${keys.length}`;
    keys.push(key);
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
  }
}

test('what cannot be held is refused, and a hold that nobody confirms says so', async () => {
  expect(await cli('hold')).toMatchObject({ code: 2 });
  expect(await cli('hold', 'transfers', '--reason', 'x')).toMatchObject({ code: 2 });
  expect(await cli('hold', '--reason', 'x', '--until', '2020-01-01T00:00:00Z')).toMatchObject({ code: 2 });
  const alone = await cli('hold', 'transfer-in', '--reason', 'nobody runs', '--wait-for', '2s');
  expect(alone).toMatchObject({ code: 5, documents: [{ kind: 'hold', reason: 'nobody runs', until: null }] });
  expect(alone.stderr).toMatch(
    /lanes 0, 1, 2, which no member owns: a member that opens it reads the order before its first call/,
  );
});

test('under load, with a member that stands still and one that joins: no call begins once it has returned; then all are answered', async () => {
  await publish(10);
  const frozen = await stack().startProcessor();
  const other = await stack().startProcessor();
  // Held by the order of before.
  expect(await stack().service.callsMade()).toBe(0);
  expect(await cli('release', '--reason', 'go')).toMatchObject({ code: 0 });
  await stack().journal.resultsOfAll(keys);
  const load = setInterval(() => void publish(1), 20);
  frozen.freeze();
  const held = startCli(environment(), 'hold', '--reason', 'incident 31');
  await held.seen(`waiting for lane`);
  const run = await held.ended;
  const before = await stack().service.callsMade();
  expect(run).toMatchObject({ code: 0 });
  expect(run.stdout).toMatch(
    new RegExp(`^held: no call of any type begins any more.*all ${LANES} lanes have confirmed`),
  );
  frozen.thaw();
  const joined = await stack().startProcessor();
  await publish(20);
  await other.stop();
  await joined.ready();
  clearInterval(load);
  expect(await stack().service.callsMade()).toBe(before);
  const audit = await cli('holds');
  expect(audit.documents).toMatchObject([
    { action: 'HOLD', commandTypes: ['transfer-in'], inForce: [] },
    { action: 'RELEASE', reason: 'go' },
    { action: 'HOLD', commandTypes: [], reason: 'incident 31', inForce: COMMAND_TYPES },
  ]);
  expect(audit.documents.at(-1)?.['lanes']).toHaveLength(LANES);
  const doctor = await runCli({ ...stack().environment }, 'doctor');
  expect(doctor.stdout).toMatch(/^problem +holds +.* holds create-quote, .*incident 31/m);
  expect(await cli('release')).toMatchObject({ code: 0, documents: [{ kind: 'release', pending: [] }] });
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
});
