/**
 * Each role does all of its work with exactly its rights, and each of them is asked for by that work: one that nobody asks
 * for could be taken away with nothing failing, and does not belong into the table. That `doctor --rights` names each one
 * that is taken is promised by rights.test.ts.
 */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { PaymentCommandPublisher } from 'payment-processor-client';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { readSomeSettings } from 'payment-processor-contract/config';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { rightInWords, rightsOf, type Right } from 'payment-processor-contract/rights';
import { runCli, startCli, type CliRun } from '../../packages/cli/test/run-cli.ts';
import { createQuoteOf, transferInOf } from '../support/commands.ts';
import { LANES } from '../support/stack.ts';
import { AskedRights } from '../access/asked-rights.ts';
import { rightsOfRoles, useSecured } from '../access/secured-kafka.ts';
import { unknownTransfer } from '../support/lost-answer.ts';

/** Of anything but JSON in this shape nothing is read here. */
const AS_JSON = { 'content-type': 'application/json' };

const TRANSFER =
  '{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"InternalAccount:f-x"},"amount":100}';

const { secured, stack } = useSecured('whole-roles', {
  // Without a clear answer only an operator can tell.
  sandbox: { honourKeys: [] },
  settings: { API_IDEMPOTENT_OPERATIONS: '', POLL_INTERVAL_MS: '500' },
});
let asked: AskedRights;

beforeAll(async () => {
  asked = new AskedRights(secured().engine.logFile);
  expect(await runCli({ ...stack().environment }, 'topics', 'create', '--json-copies')).toMatchObject({ code: 0 });
  await secured().grant(rightsOfRoles(stack(), 'processor'), secured().certified);
  await stack().startProcessor(secured().environment('mtls'));
});
beforeEach(() => asked.forget());

async function having(rights: readonly Right[]): Promise<void> {
  await secured().revokeAll([secured().principal]);
  await secured().grant(rights);
}

function environment(): Record<string, string> {
  return { ...stack().environment, ...secured().environment('scram') };
}

async function succeeds(...args: string[]): Promise<CliRun> {
  const run = await runCli(environment(), ...args);
  expect({ args, code: run.code, stderr: run.stderr }).toMatchObject({ args, code: 0 });
  return run;
}

/** In time: what a process asks for in its own rounds comes with the next. */
async function eachIsNeeded(rights: readonly Right[], principal = secured().principal): Promise<void> {
  await expect
    .poll(async () => (await asked.needless(rights, principal)).map(rightInWords), { timeout: 20_000 })
    .toEqual([]);
}

/** A message without its type: it cannot be read, and becomes a dead letter. */
function bury(type: CommandType): Promise<void> {
  return stack().publishRaw(type, { key: `buried-${type}`, value: '{}', headers: { ce_id: `buried-${type}` } });
}

test('a processor', async () => {
  await asked.forget();
  // Another start: its rights are asked for, and its topics compared.
  const { TOPIC_PREFIX = '' } = stack().environment;
  const processor = await stack().startProcessor(secured().environment('mtls'));
  await stack().publisher.publish('transfer-in', 'known', transferInOf('known'));
  await stack().publisher.publish('create-quote', 'quoted', createQuoteOf('quoted'));
  await Promise.all(['known', 'quoted'].map((key) => stack().journal.result(key)));
  const partitions = Array.from({ length: LANES }, (_, partition) => partition);
  // On the partitions of others, they are moved.
  for (const type of COMMAND_TYPES) {
    const message = { key: `moved-${type}`, value: '{}', headers: { ...AS_JSON, ce_id: `moved-${type}` } };
    await stack().publishRaw(type, ...partitions.map((partition) => ({ ...message, partition })));
    await bury(type);
  }
  const producer = stack().kafka.producer();
  await producer.connect();
  await producer.send({
    topic: `${TOPIC_PREFIX}.operator.decisions.v1`,
    messages: partitions.map((partition) => ({ partition, key: 'nobody', value: '{}', headers: AS_JSON })),
  });
  await producer.disconnect();
  await eachIsNeeded(rightsOfRoles(stack(), 'processor'), secured().certified);
  await processor.stop();
});

test('an operator, with every command of the runbooks', async () => {
  await unknownTransfer(stack(), 'decided');
  await stack().journal.until(() => stack().journal.deadLetters().length >= COMMAND_TYPES.length, 'the dead letters');
  const letter = stack().journal.deadLetters()[0];
  const transactionId = (await stack().journal.result('known')).value.transaction?.id ?? '';
  await having(rightsOfRoles(stack(), 'operator'));
  await asked.forget();
  await succeeds('show', 'known');
  await succeeds('ledger', 'show', 'known');
  await succeeds('results', '--key', 'known');
  await succeeds('status');
  expect((await succeeds('status', 'show', transactionId)).stdout).toContain('transaction');
  await succeeds('lag');
  await succeeds('unknown', 'list');
  await succeeds('topics', 'check');
  await succeeds('dead-letters', 'list');
  await succeeds('dead-letters', 'show', `${letter?.partition ?? ''}/${letter?.offset ?? ''}`);
  const redrive = ['dead-letters', 'redrive', '--reason', 'UNREADABLE', '--key-suffix=-again', '--yes'];
  const redriven = await runCli(environment(), '--output', 'json', ...redrive);
  const published = redriven.documents.filter(({ status }) => status === 'published').map(({ key }) => key);
  expect({ stderr: redriven.stderr, published }).toMatchObject({
    published: expect.arrayContaining(COMMAND_TYPES.map((type) => `buried-${type}-again`)) as string[],
  });
  await succeeds('resolve', 'decided', '--decision', 'NOT_EXECUTED', '--reason', 'not in the statement', '--yes');
  await succeeds('hold', '--reason', 'incident 31');
  expect((await succeeds('holds')).stdout).toContain('incident 31');
  await succeeds('release');
  await succeeds('doctor', '--rights', '--role', 'operator');
  expect((await runCli(environment(), 'doctor')).stdout).not.toMatch(/^problem +(kafka|topics|group|lag) /m);
  await eachIsNeeded(rightsOfRoles(stack(), 'operator'));
});

test('a publisher, and a subscriber who awaits', async () => {
  await having(rightsOfRoles(stack(), 'publisher'));
  const read = readSomeSettings(environment(), CLIENT_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const publisher = await PaymentCommandPublisher.connect(read.config);
  await publisher.publish('transfer-in', 'a', transferInOf('a'));
  await publisher.publish('create-quote', 'b', createQuoteOf('b'));
  await publisher.publish('execute-quote', 'c', { quoteId: 'Quote:none', transactionId: 'Transaction:none' });
  await publisher.publish('reject-transaction', 'd', { transactionId: 'Transaction:none', reason: 'none' });
  await publisher.publish('simulate-uma-receive', 'e', {
    senderUmaAddress: '$a@x.test',
    receivingCurrencyCode: 'USD',
    receivingCurrencyAmount: 100n,
    customerId: 'Customer:e-x',
  });
  await publisher.close();
  await succeeds('publish', 'transfer-in', '--key', 'unawaited', '--value', TRANSFER);
  await eachIsNeeded(rightsOfRoles(stack(), 'publisher'));

  await having(rightsOfRoles(stack(), 'publisher', 'subscriber'));
  await asked.forget();
  await succeeds('publish', 'transfer-in', '--key', 'awaited', '--value', TRANSFER, '--await');
  await succeeds('status');
  await eachIsNeeded(rightsOfRoles(stack(), 'subscriber'));
});

test('a mirror', async () => {
  await having(rightsOfRoles(stack(), 'mirror'));
  const mirror = startCli(environment(), 'mirror');
  await mirror.seen('copying');
  await eachIsNeeded(rightsOfRoles(stack(), 'mirror'));
  mirror.interrupt();
  expect(await mirror.ended).toMatchObject({ code: 0 });
});

test('one who sets up', async () => {
  const TOPIC_PREFIX = `${stack().environment['TOPIC_PREFIX'] ?? ''}-other`;
  const rights = rightsOf('set-up', { TOPIC_PREFIX, KAFKA_GROUP_ID: 'none', SANDBOX_COMMANDS: true });
  await having(rights);
  const settings = { ...secured().environment('scram'), TOPIC_PREFIX, LANES: '1' };
  const made = await runCli(settings, 'topics', 'create');
  expect(made).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^processors read the topic of simulate-uma-receive only .*\n$/) as string,
  });
  expect(await runCli(settings, 'topics', 'check')).toMatchObject({ code: 0 });
  await eachIsNeeded(rights);
});
