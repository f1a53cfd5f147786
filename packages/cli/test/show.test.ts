/** `show`, `ledger show` and `unfinished list`: what is known of commands, of one stack. */
import { beforeAll, describe, expect, test } from 'vitest';
import { laneOf } from 'payment-processor-contract/keys';
import { keyHash } from 'payment-processor-contract/key-hash';
import { stringifyLossless, type JsonObject } from 'payment-processor-contract/lossless-json';
import { openTransaction } from '../../client/test/fixtures.ts';
import { createQuoteOf, executionOf, publishTransfers, transferInOf } from '../../../test/support/commands.ts';
import { unknownTransfer } from '../../../test/support/lost-answer.ts';
import { LANES } from '../../../test/support/stack.ts';
import type { RunningProcessor } from '../../../test/support/processor.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { eventually } from '../../../test/support/watch.ts';
import { runCli, type CliRun } from './run-cli.ts';

// The service honours no key: a lost execution is settled by a look-up, a lost transfer-in by nobody.
const stack = useStack({ name: 'show', sandbox: { honourKeys: [] }, settings: { API_IDEMPOTENT_OPERATIONS: '' } });

let processor: RunningProcessor;

beforeAll(async () => {
  processor = await stack().startProcessor();
});

const cli = (...args: string[]): Promise<CliRun> => runCli({ ...stack().environment }, ...args);
const cliJson = (...args: string[]): Promise<CliRun> => cli('--output', 'json', ...args);
const show = (...args: string[]): Promise<CliRun> => cli('show', ...args);
const showJson = (...args: string[]): Promise<CliRun> => cliJson('show', ...args);

/** The service puts this command off, for longer than the tests run. */
const park = (operation: 'transfer-in' | 'execute-quote', key: string): Promise<void> =>
  stack().service.addFaults({ kind: 'status', httpStatus: 429, retryAfter: 600, operation, key });

describe('show KEY', () => {
  test('does not say of a payment made by another command that it was not made, and shows its changes', async () => {
    const execution = await executionOf(stack(), 'first-execution');
    await stack().publisher.publish('execute-quote', 'first-execution', execution);
    expect((await stack().journal.result('first-execution')).value.outcome).toBe('ACCEPTED');
    await stack().journal.until(
      () => stack().journal.transactionEvents(execution.transactionId ?? '').length > 0,
      'the status change of the execution',
    );
    await stack().publisher.publish('execute-quote', 'second-execution', execution);
    expect((await stack().journal.result('second-execution')).value.outcome).toBe('REFUSED');
    const { stdout } = await show('second-execution');
    expect(stdout).toMatch(/^payment +none by this command: REFUSED$/m);
    expect(stdout).toMatch(/ transaction +.*-> PROCESSING/);
  });

  test('tells a doubt that was settled: the message, the call, the look-up, the result, the status changes', async () => {
    const key = 'settled-doubt';
    const execution = await executionOf(stack(), key);
    await stack().service.addFaults({ kind: 'drop-after', operation: 'execute-quote', key, count: 1 });
    await stack().publisher.publish('execute-quote', key, execution, { commandId: 'settled-id', correlationId: 'c-1' });
    const result = await stack().journal.result(key);
    expect(result.value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'LOOKUP' });
    const run = await showJson(key);
    expect(run).toMatchObject({ code: 0 });
    expect(run.documents).toMatchObject([
      {
        key,
        state: 'DONE',
        outcome: 'ACCEPTED',
        published: [
          {
            role: 'command',
            commandType: 'execute-quote',
            topic: stack().topics.commands['execute-quote'],
            headers: { ce_id: 'settled-id', 'correlation-id': 'c-1' },
            fields: { quoteId: execution.quoteId, transactionId: execution.transactionId },
          },
        ],
        results: [{ value: { outcome: 'ACCEPTED', settledBy: 'LOOKUP' } }],
        decisions: [],
        deadLetters: [],
        notRead: [],
        runbooks: [],
      },
    ]);
    const [document] = run.documents;
    const states = (entries: JsonObject[]): unknown[] =>
      entries.map(({ entry }) => ((entry as JsonObject).phase as JsonObject).state);
    expect(states(document?.ledger as JsonObject[])).toEqual(['INTENT', 'DOUBTFUL', 'DONE']);
    expect((document?.calls as JsonObject[]).map(({ attempt }) => JSON.stringify(attempt))).toEqual(['1']);
    expect((document?.statusChanges as JsonObject[]).length).toBeGreaterThan(0);

    const text = await show(key);
    expect(text.stdout).toMatch(/header +correlation-id: c-1/);
    expect(text.stdout).toMatch(
      /published +execute-quote {2}the command[^]*INTENT +call 1[^]*DOUBTFUL[^]*may have taken effect since[^]*result +ACCEPTED/,
    );
    expect(text.stdout).toMatch(/transaction +.* -> /);
    expect(text.stdout).toMatch(/not kept +the answer to each call/);
    expect(text.stdout).toMatch(/not kept +single look-ups/);

    const ledger = await cliJson('ledger', 'show', key);
    expect(ledger.code).toBe(0);
    expect(states(ledger.documents)).toEqual(['INTENT', 'DOUBTFUL', 'DONE']);
    const done = (ledger.documents.at(-1)?.entry as { phase: { result: { valueBase64: string } } }).phase;
    expect(Buffer.from(done.result.valueBase64, 'base64').toString('latin1')).toContain(execution.transactionId);
    const lines = (await cli('ledger', 'show', key)).stdout;
    expect(lines).toMatch(/INTENT[^\n]*attempt [^]*DOUBTFUL[^]*DONE[^\n]*ACCEPTED/);
  });

  test('tells copies from other content under the same key, which is a CONFLICT', async () => {
    const key = 'conflicting';
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
    await stack().journal.result(key);
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
    await stack().publisher.publish('transfer-in', key, transferInOf(key, 200n));
    await stack().journal.until(() => stack().journal.results(key).length === 3, 'copy and conflict to be answered');
    const run = await showJson(key);
    expect(run).toMatchObject({ code: 0 });
    expect(run.documents).toMatchObject([
      {
        outcome: 'ACCEPTED',
        published: [{ role: 'command' }, { role: 'copy' }, { role: 'other-content' }],
        results: [
          { value: { outcome: 'ACCEPTED' } },
          { headers: { replayed: 'true' } },
          { value: { outcome: 'CONFLICT', error: { code: 'KEY_REUSED' } } },
        ],
      },
    ]);
    const text = await show(key);
    expect(text.stdout).toMatch(/other content under the same key: a CONFLICT/);
    expect(text.stdout).toMatch(/ACCEPTED .* for a copy/);
  });

  test('tells a dead letter with its reason, its redrive and its runbook', async () => {
    const key = 'buried';
    await stack().publishRaw('transfer-in', { key, value: '{"cut', headers: { 'content-type': 'application/json' } });
    await stack().journal.result(key);
    const run = await showJson(key);
    expect(run).toMatchObject({
      code: 0,
      documents: [
        {
          outcome: 'INVALID',
          published: [{ role: 'command', fields: null }],
          deadLetters: [{ reason: 'UNREADABLE', redriven: [] }],
          runbooks: ['docs/runbooks/PaymentsDeadLetters.md'],
        },
      ],
    });
    const text = await show(key);
    expect(text.stdout).toMatch(/dead letter +\d+\/\d+ {2}UNREADABLE: /);
    expect(text.stdout).toMatch(/runbook +docs\/runbooks\/PaymentsDeadLetters\.md/);
  });

  test('tells who decided, what was refused, and every revision; an UNKNOWN names its runbook', async () => {
    const key = 'decided';
    await unknownTransfer(stack(), key);
    const before = await show(key);
    expect(before.stdout).toMatch(/state +DONE, UNKNOWN; revision 1/);
    expect(before.stdout).toContain('docs/runbooks/unknown-results.md');
    const decide = (expectedRevision: number, reason: string): Promise<void> =>
      stack().publishDecision(key, { decision: 'NOT_EXECUTED', expectedRevision, operator: 'ada', reason });
    await decide(7, 'too late');
    await decide(1, 'not there');
    await stack().journal.resultsOf(key, 2);
    const text = await show(key);
    expect(text.stdout).toMatch(/decision +NOT_EXECUTED on revision 7 by ada: too late {2}refused/);
    expect(text.stdout).toMatch(/decision +NOT_EXECUTED on revision 1 by ada: not there {2}carried out/);
    expect(text.stdout).toMatch(/revision 1, by PROCESSOR[^]*revision 2, by OPERATOR/);
    expect(text.stdout).toMatch(/dead letter .*REFUSED_DECISION/);
  });

  test('masks accounts unless it is asked not to', async () => {
    const key = 'masked-accounts';
    await stack().publisher.publish('create-quote', key, createQuoteOf(key));
    await stack().journal.result(key);
    for (const run of [await show(key), await showJson(key)]) {
      expect(run.code).toBe(0);
      expect(run.stdout).not.toContain('masked-accounts-x');
      expect(run.stdout).toContain('InternalAccount:...ts-x');
    }
    expect((await show(key, '--unmasked')).stdout).toContain('InternalAccount:masked-accounts-x');
  });

  test('says what a limit cut off', async () => {
    const key = 'cut-off';
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
    await stack().journal.until(() => stack().journal.results(key).length === 2, 'both answers');
    const run = await showJson(key, '--newest', '1');
    expect(run.code).toBe(0);
    expect((run.documents[0]?.published as unknown[]).length).toBeLessThan(2);
    expect(JSON.stringify(run.documents[0]?.notRead)).toContain('before the newest 1 (--newest)');
    const late = await show(key, '--read-for', '1ms');
    expect(late.stdout + late.stderr).toMatch(/the end of .*: it took longer than 1 ms/);
  });

  test('exits with 3 for a key that is known nowhere, and with 2 for what is no key', async () => {
    const nowhere = await show('nobody-knows');
    expect(nowhere).toMatchObject({ code: 3, stdout: '' });
    expect(nowhere.stderr).toContain('is known nowhere');
    expect(await show('a.execute')).toMatchObject({ code: 2 });
    expect(await show()).toMatchObject({ code: 2 });
    expect(await show('key', '--quote', 'Quote:1')).toMatchObject({ code: 2 });
    expect(await show('--transaction', 'Transaction:none')).toMatchObject({ code: 3 });
    expect(await show('--hash', 'ffffffffffffffff')).toMatchObject({ code: 3 });
    expect(await cli('ledger', 'show', 'nobody-knows')).toMatchObject({ code: 3 });
    expect(await cli('ledger', 'show', 'a.execute')).toMatchObject({ code: 2 });
  });

  test.each(['results', 'ledger', 'transactionStatusChanged', 'quoteStatusChanged'] as const)(
    'of a payment of which an open transaction may hide the %s does not say that it does not exist',
    async (topic) => {
      const { kafka, topics } = stack();
      const id = 'Transaction:unseen';
      const end = await openTransaction(kafka, topics[topic], laneOf(id, LANES));
      const run = await show('--transaction', id);
      await end();
      expect(run).toMatchObject({ code: 1, stdout: '' });
      expect(run.stderr).toMatch(/in the records read names Transaction:unseen\n {2}not read: \d+ messages? of /);
    },
  );

  test('of a message that nobody has admitted yet says so', async () => {
    processor.freeze();
    await stack().publisher.publish('transfer-in', 'waiting', transferInOf('waiting'));
    const run = await show('waiting');
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(/state +not in the ledger: not admitted yet/);
    expect(run.stdout).toContain('docs/runbooks/PaymentsOldestUnansweredTooOld.md');

    const value = stringifyLossless(transferInOf('astray'));
    const partition = (laneOf('astray', LANES) + 1) % LANES;
    const headers = { 'content-type': 'application/json' };
    await stack().publishRaw('transfer-in', { key: 'astray', value, headers, partition });
    const astray = await showJson('astray');
    expect(astray).toMatchObject({ code: 0, documents: [{ published: [{ role: 'not-admitted' }] }] });
    expect(astray.stderr).toContain(`on partition ${partition}, not on the partition of its key`);
    processor.thaw();
    for (const key of ['waiting', 'astray']) await stack().journal.result(key);
  });
});

describe('of a command that waits to be tried again', () => {
  const list = (...filter: string[]): Promise<CliRun> => cliJson('unfinished', 'list', ...filter);

  beforeAll(async () => {
    await park('transfer-in', 'parked');
    await stack().publisher.publish('transfer-in', 'parked', transferInOf('parked'));
    const isParked = ({ documents }: CliRun): boolean => documents[0]?.phase === 'PARKED';
    await eventually(list, isParked, 'the command to be parked');
  });

  test('unfinished list has key, lane, phase, what comes next and why, and nothing that is done', async () => {
    const { code, documents, stderr } = await list();
    expect(code).toBe(0);
    expect(documents).toMatchObject([{ key: 'parked', command: 'transfer-in', phase: 'PARKED' }]);
    expect(documents[0]?.next).toMatch(/^next try at 2/);
    expect(documents[0]?.why).toContain('429');
    expect(stderr).toMatch(/1 PARKED, .*429/);
    // It has not been parked since then.
    const { stdout } = await cli('unfinished', 'list');
    expect(stdout).toMatch(/^parked {2}transfer-in {2}lane \d {2}published \S+ \S+ ago {2}PARKED {2}next try at /);
  });

  test.each([
    ['lane', String((laneOf('parked', LANES) + 1) % LANES)],
    ['phase', 'DOUBTFUL'],
  ])('unfinished list of another %s has none, and says so', async (name, value) => {
    const run = await list(`--${name}`, value);
    expect(run).toMatchObject({ code: 0, documents: [] });
    expect(run.stderr).toContain('none in this lane and phase');
    expect(run.stderr).not.toContain('every');
    expect(await list('--phase', 'doubtful')).toMatchObject({ code: 2 });
  });

  test('unfinished list of a lane that does not exist is refused', async () => {
    const run = await list('--lane', '99');
    expect(run).toMatchObject({ code: 2, documents: [] });
    expect(run.stderr).toBe(`there is no lane 99: the ledger has the lanes 0 to ${LANES - 1}\n`);
  });

  test('show finds the key by its hash, and by where its command lies', async () => {
    expect(await showJson('--hash', keyHash('parked'))).toMatchObject({ code: 0, documents: [{ key: 'parked' }] });
    const { source } = (await stack().journal.result('conflicting')).value;
    const { documents } = await showJson('--offset', `${source.partition}/${source.offset}`);
    expect(documents.map(({ key }) => key)).toContain('conflicting');
  });
});

describe('show by payment', () => {
  test('finds the commands of a transaction and of a quote, those that only the ledger knows as well', async () => {
    const key = 'two-commands';
    await stack().publisher.publish('create-quote', key, createQuoteOf(key));
    const { quote } = (await stack().journal.result(key)).value;
    const [quoteId, transactionId] = [quote?.id ?? '', quote?.transactionId ?? ''];
    await park('execute-quote', 'its-execution');
    await stack().publisher.publish('execute-quote', 'its-execution', { quoteId, transactionId });
    const keysOf = async (...args: string[]): Promise<unknown[]> =>
      (await showJson(...args)).documents.map((document) => document.key).sort();
    await expect.poll(() => keysOf('--quote', quoteId), { timeout: 40_000 }).toEqual(['its-execution', key]);
    expect(await keysOf('--transaction', transactionId)).toEqual(['its-execution', key]);
  });
});

test('unfinished list leaves no command out unless it is told to', async () => {
  await stack().service.addFaults({ kind: 'status', httpStatus: 429, retryAfter: 600, operation: 'transfer-in' });
  const keys = await publishTransfers(stack(), 'many', 150);
  const namesOf = ({ documents }: CliRun): unknown[] => documents.map(({ key }) => key);
  const list = () => cliJson('unfinished', 'list');
  const all = await eventually(list, (run) => keys.every((key) => namesOf(run).includes(key)), 'all to be listed');
  expect(all.code).toBe(0);
  const few = await cliJson('unfinished', 'list', '--limit', '5');
  expect(few.documents).toHaveLength(5);
  expect(few.stderr).toContain(`${all.documents.length - 5} more are not shown (--limit)`);
});
