import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from 'payment-processor-contract/config';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { laneOf } from 'payment-processor-contract/keys';
import { environmentOf, freshPrefix, openTransaction } from '../../client/test/fixtures.ts';
import { transferInOf } from '../../../test/support/commands.ts';
import type { RunningProcessor } from '../../../test/support/processor.ts';
import { LANES } from '../../../test/support/stack.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { checkDeadLetters, checkUnknownResults } from '../src/doctor/people-checks.ts';
import { runCli, type CliRun } from './run-cli.ts';

// The service honours no key: a lost transfer-in is settled by nobody.
const stack = useStack({ name: 'doctor', sandbox: { honourKeys: [] }, settings: { API_IDEMPOTENT_OPERATIONS: '' } });

let processor: RunningProcessor;

beforeAll(async () => {
  processor = await stack().startProcessor();
});

const doctor = (changed: Record<string, string> = {}): Promise<CliRun> =>
  runCli({ ...stack().environment, ...changed }, '--output', 'json', 'doctor');

const statuses = (run: CliRun): Record<string, unknown> =>
  Object.fromEntries(run.documents.map(({ check, status }) => [check as string, status]));

const messages = (run: CliRun, check: string): string =>
  run.documents
    .filter((document) => document.check === check)
    .map(({ message }) => message as string)
    .join('\n');

describe('doctor', () => {
  test('finds everything in order where it is, with exit code 0', async () => {
    await stack().publisher.publish('transfer-in', 'well', transferInOf('well'));
    await stack().journal.result('well');
    const run = await doctor({ HTTP_PORT: new URL(processor.httpUrl).port });
    expect(statuses(run)).toEqual({
      settings: 'ok',
      kafka: 'ok',
      topics: 'ok',
      group: 'ok',
      lag: 'ok',
      holds: 'ok',
      'unknown-results': 'ok',
      'dead-letters': 'ok',
      registry: 'ok',
      schemas: 'ok',
      'payment-service': 'ok',
      processor: 'ok',
    });
    expect(run.code).toBe(0);
    expect(messages(run, 'group')).toMatch(/1 member \(.*lanes 0, 1, 2/);
    const text = await runCli({ ...stack().environment }, 'doctor');
    expect(text).toMatchObject({ code: 0 });
    expect(text.stdout).toMatch(/^not checked +processor +because neither HTTP_HOST nor HTTP_PORT/m);
  });

  test('names each thing that is amiss, with what to do', async () => {
    processor.freeze();
    await expect
      .poll(async () => messages(await doctor(), 'group'), { timeout: 30_000 })
      .toMatch(/no processor runs.*npm start/);
    await stack().publishRaw('transfer-in', { key: null, value: 'x' });
    processor.thaw();
    await stack().journal.until(() => stack().journal.deadLetters().length > 0, 'the dead letter');
    const run = await doctor({
      API_BASE_URL: stack().sandbox.url,
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
      HTTP_PORT: '1',
      KAFKA_HEARTBEAT_INTERVAL_MS: '1900',
      LANES: '5',
    });
    expect(run.code).toBe(6);
    expect(statuses(run)).toMatchObject({
      settings: 'problem',
      kafka: 'ok',
      topics: 'problem',
      registry: 'problem',
      schemas: 'not-checked',
      'payment-service': 'problem',
      group: 'not-checked',
      'dead-letters': 'problem',
      processor: 'problem',
    });
    expect(messages(run, 'settings')).toContain('KAFKA_HEARTBEAT_INTERVAL_MS');
    expect(messages(run, 'topics')).toMatch(
      /^LANES is 5, but all \d+ topics .* have 3 partitions: set LANES to the number that this prefix was created with[^\n]*$/,
    );
    expect(messages(run, 'registry')).toContain('SCHEMA_REGISTRY_URL');
    expect(messages(run, 'payment-service')).toContain('version segment');
    expect(messages(run, 'dead-letters')).toMatch(/1 open \(NO_KEY 1\); 1 of them came in the last hour/);
    expect(messages(run, 'processor')).toContain('HTTP_PORT');
  });

  test('reports UNKNOWN results, and dead letters until they are redriven', async () => {
    const key = 'lost';
    const buried = { key: 'buried', value: '{"torn', headers: { 'content-type': 'application/json' } };
    await stack().service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key, count: 1 });
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
    await stack().publishRaw('transfer-in', buried);
    expect((await stack().journal.result(key)).value.outcome).toBe('UNKNOWN');
    await stack().journal.result('buried');
    const run = await doctor();
    expect(run.code).toBe(6);
    expect(statuses(run)).toMatchObject({ 'unknown-results': 'problem', 'dead-letters': 'problem' });
    expect(messages(run, 'unknown-results')).toMatch(
      /^1 waits for an operator; the oldest has waited \d+ .*`unknown list`/,
    );
    expect(messages(run, 'dead-letters')).toMatch(/^2 open \(.*UNREADABLE 1/);

    // As they are they become dead letters again, of keys of their own.
    const letters = [...stack().journal.deadLetters()];
    for (const [index, { offset, partition }] of letters.entries()) {
      const place = `${partition}/${offset}`;
      const redrive = ['dead-letters', 'redrive', place, '--key', `again-${index}`, '--operator', 'ada', '--yes'];
      expect(await runCli({ ...stack().environment }, ...redrive)).toMatchObject({ code: 0 });
    }
    const decision = { decision: 'NOT_EXECUTED', expectedRevision: 1, operator: 'ada', reason: 'not in the list' };
    await stack().publishDecision(key, decision);
    await stack().journal.resultsOf(key, 2);
    const after = await doctor();
    expect(statuses(after)).toMatchObject({ 'unknown-results': 'ok' });
    expect(messages(after, 'dead-letters')).toMatch(/2 handled: redriven, acknowledged, or refused decisions/);

    // What could not be read in time is not in order.
    const read = readConfig(stack().environment);
    if (!read.ok) throw new Error(read.problems.join());
    for (const check of [checkDeadLetters, checkUnknownResults]) {
      expect(await check(read.config, 0)).toMatchObject({ status: 'not-checked' });
    }
  });

  test('counts sandbox commands that nobody reads, for the setting is off', async () => {
    const { environment, topics } = stack();
    const topic = topics.commands['simulate-uma-receive'];
    const off = { SANDBOX_COMMANDS: 'false', KAFKA_GROUP_ID: `${environment['KAFKA_GROUP_ID'] ?? ''}-other` };
    expect(messages(await doctor(off), 'lag')).not.toContain(topic);
    await stack().publishRaw('simulate-uma-receive', { key: 'unread', value: '{}' });
    expect(messages(await doctor(off), 'lag')).toMatch(
      /no processor reads 1 messages of .*, because SANDBOX_COMMANDS is off/,
    );
  });

  test('messages behind a publisher’s open transaction are reported by doctor, lag, and commands that miss a key or a result', async () => {
    const { environment, kafka, topics } = stack();
    const end = await openTransaction(kafka, topics.commands['transfer-in'], 1);
    const held = /1 message of \S+\.transfer-in\.v1, lane 1, behind an open transaction/;
    expect(messages(await doctor(), 'lag')).toMatch(held);
    const shown = await runCli({ ...environment }, 'show', 'held');
    expect(shown).toMatchObject({ code: 1, stdout: '' });
    expect(shown.stderr).toMatch(/have nothing about held, but not all were read.*\n {2}not read: 1 message of /);
    expect((await runCli({ ...environment }, 'lag')).stderr).toMatch(held);
    const words = ['--key', 'held-1', '--value', stringifyLossless(transferInOf('held-1')), '--await-for', '1s'];
    const published = await runCli({ ...environment }, 'publish', 'transfer-in', ...words, '--await');
    expect(published.code).toBe(5);
    expect(published.stderr).toMatch(/no result.*\n.*lane 1, behind an open transaction/);
    await end();
    expect(messages(await doctor(), 'lag')).not.toMatch(held);
  });

  test('nothing is said not to be in a ledger whose end an open transaction hides', async () => {
    const { environment, kafka, topics } = stack();
    const cli = (...words: string[]): Promise<CliRun> => runCli({ ...environment }, ...words);
    const end = await openTransaction(kafka, topics.ledger, laneOf('hidden', LANES));
    await stack().publisher.publish('transfer-in', 'hidden', transferInOf('hidden'));
    await stack().journal.result('hidden');
    const held = /messages of \S+\.ledger\.v1, lane \d, behind an open transaction/;
    for (const words of [['unfinished'], ['unknown']]) {
      const run = await cli(...words, 'list');
      expect(run.stderr).toMatch(held);
      expect(run.stderr).not.toMatch(/every admitted command|no result is UNKNOWN/);
      expect(run.code).toBe(1);
    }
    const story = await cli('show', 'hidden');
    expect(story.stdout).toMatch(held);
    expect(story.stdout).not.toMatch(/not admitted/);
    expect((await cli('ledger', 'show', 'hidden')).stderr).toMatch(held);
    const decided = await cli('resolve', 'hidden', '--decision', 'RETRY', '--reason', 'ticket 4711', '--yes');
    expect(decided.stderr).toMatch(held);
    expect(decided.code).toBe(1);
    const run = await doctor();
    expect(messages(run, 'lag')).toMatch(held);
    expect(messages(run, 'unknown-results')).toMatch(held);
    await end();
    expect(await cli('unfinished', 'list')).toMatchObject({ code: 0 });
    const { value } = await stack().journal.result('hidden');
    const id = value.transaction?.id ?? '';
    const endChanges = await openTransaction(kafka, topics.transactionStatusChanged, laneOf(id, LANES));
    const heldChange = /not read:? +\d+ messages? of \S+\.transaction-status-changed\.v1/;
    const shown = (await cli('show', 'hidden')).stdout;
    expect(shown).toMatch(heldChange);
    expect(shown).not.toMatch(/^payment +settled/m);
    for (const words of [
      ['status', '--key', id],
      ['status', 'show', id],
    ]) {
      const changes = await cli(...words);
      expect(changes.stdout).toMatch(/-> PENDING/);
      expect(changes.stderr).toMatch(heldChange);
      expect(changes.code).toBe(1);
    }
    await endChanges();
  });

  test('lists every setting that is missing, and checks nothing that needs it', async () => {
    const run = await runCli({}, '--output', 'json', 'doctor');
    expect(run.code).toBe(6);
    const named = ['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'API_BASE_URL', 'API_TOKEN_ID', 'API_CLIENT_SECRET'];
    for (const name of named) expect(messages(run, 'settings')).toContain(name);
    const others = run.documents.filter(({ check }) => check !== 'settings');
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 'not-checked'));
  });

  test('of a Kafka that does not answer says so once, and still checks the rest', async () => {
    const run = await doctor({ KAFKA_BROKERS: '127.0.0.1:1' });
    expect(statuses(run)).toMatchObject({
      kafka: 'problem',
      topics: 'not-checked',
      group: 'not-checked',
      lag: 'not-checked',
      'dead-letters': 'not-checked',
      registry: 'ok',
      'payment-service': 'ok',
    });
    expect(messages(run, 'kafka')).toContain('KAFKA_BROKERS');
  });

  test('of a prefix without topics and schemas says how they are made', async () => {
    const none = environmentOf(freshPrefix('no-topics'));
    const run = await doctor({ TOPIC_PREFIX: none['TOPIC_PREFIX'] ?? '' });
    expect(statuses(run)).toMatchObject({
      topics: 'problem',
      schemas: 'problem',
      group: 'problem',
      lag: 'not-checked',
    });
    expect(messages(run, 'topics')).toContain('topics create');
    expect(messages(run, 'schemas')).toContain('schemas register');
  });
});
