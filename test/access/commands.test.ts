/** What publisher, subscriber and the runbooks' commands say without one right. With all of them they work: whole-roles.test.ts. */
import { beforeAll, describe, expect, test } from 'vitest';
import { grantCommand, rightInWords, type Right } from 'payment-processor-contract/rights';
import { runCli, type CliRun } from '../../packages/cli/test/run-cli.ts';
import { transferInOf } from '../support/commands.ts';
import { rightsOfRoles, useSecured } from './secured-kafka.ts';

const { secured, stack } = useSecured('commands');

beforeAll(async () => {
  await stack().startProcessor();
  await stack().publisher.publish('transfer-in', 'known', transferInOf('known'));
  await stack().journal.result('known');
  await stack().publishRaw('transfer-in', { key: null, value: 'no key' });
  await stack().journal.until(() => stack().journal.deadLetters().length > 0, 'the dead letter');
});

async function having(...rights: readonly Right[]): Promise<void> {
  await secured().revokeAll();
  await secured().grant(rights);
}

function cli(...args: readonly string[]): Promise<CliRun> {
  return runCli({ ...stack().environment, ...secured().environment('scram') }, ...args);
}

const TRANSFER = (): string =>
  JSON.stringify(transferInOf('awaited'), (_name, value: unknown) =>
    typeof value === 'bigint' ? Number(value) : value,
  );

describe('without one right', () => {
  const read =
    (name: string): ((right: Right) => boolean) =>
    (right) =>
      right.operation === 'Read' && right.name.endsWith(name);
  const CASES: readonly [string, (right: Right) => boolean, readonly string[], RegExp][] = [
    ['show', read('-cli-'), ['show', 'known'], /does not allow us.*group \S+-cli-.*doctor --rights/],
    ['ledger show', read('-cli-'), ['ledger', 'show', 'known'], /does not allow us.*group \S+-cli-.*doctor --rights/],
    ['results', read('-subscriber-'), ['results'], /group \S+-subscriber-/],
    [
      'lag',
      (right) => right.resource === 'group' && right.operation === 'Describe',
      ['lag'],
      /does not allow us.*group/,
    ],
  ];
  test.each(CASES)('%s says which, and `doctor --rights` how it is granted', async (_name, isIt, args, sentence) => {
    const rights = rightsOfRoles(stack(), 'operator');
    const right = rights.find(isIt);
    if (right === undefined) throw new Error('no such right');
    await having(...rights.filter((other) => other !== right));
    const run = await cli(...args);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(sentence);
    expect(run.stderr).not.toMatch(/^ +at /m);
    const doctor = await cli('--output', 'json', 'doctor', '--rights', '--role', 'operator');
    expect(doctor).toMatchObject({ code: 6 });
    expect(doctor.documents.map(({ message }) => message)).toEqual([
      `Kafka does not allow us ${rightInWords(right)}: grant it: ${grantCommand(right, secured().principal)}`,
    ]);
  });

  test('a publisher without the right to write gets a message without a stack', async () => {
    await having(...rightsOfRoles(stack(), 'subscriber'));
    const run = await cli('publish', 'transfer-in', '--key', 'refused', '--value', TRANSFER(), '--await');
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/topic \S+ does not exist.*hides topics.*doctor --rights/);
    expect(run.stderr).not.toMatch(/^ +at /m);
  });

  test('every command reports a rejected login', async () => {
    const environment = { ...stack().environment, ...secured().environment('scram', { KAFKA_SASL_PASSWORD: 'wrong' }) };
    for (const args of [['show', 'known'], ['lag'], ['topics', 'check']]) {
      const run = await runCli(environment, ...args);
      expect(run.code).toBe(1);
      expect(run.stderr).toMatch(/rejected the login.*KAFKA_SASL_PASSWORD/);
    }
  });
});
