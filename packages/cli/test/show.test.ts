import { beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from 'payment-processor-contract/lossless-json';
import { createQuoteOf, executionOf, transferInOf } from '../../../test/support/commands.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli, type CliRun } from './run-cli.ts';

// The service honours no key: a lost execution is settled by a look-up, a lost transfer-in by nobody.
const stack = useStack({ name: 'show', sandbox: { honourKeys: [] }, settings: { API_IDEMPOTENT_OPERATIONS: '' } });

beforeAll(async () => {
  await stack().startProcessor();
});

const show = (...args: string[]): Promise<CliRun> => runCli({ ...stack().environment }, 'show', ...args);
const showJson = (...args: string[]): Promise<CliRun> =>
  runCli({ ...stack().environment }, '--output', 'json', 'show', ...args);

describe('show KEY', () => {
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
    const states = (document?.ledger as JsonObject[]).map(
      ({ entry }) => ((entry as JsonObject).phase as JsonObject).state,
    );
    expect(states).toEqual(['INTENT', 'DOUBTFUL', 'DONE']);
    expect((document?.calls as JsonObject[]).map(({ attempt }) => JSON.stringify(attempt))).toEqual(['1']);
    expect((document?.statusChanges as JsonObject[]).length).toBeGreaterThan(0);

    const text = await show(key);
    expect(text.stdout).toMatch(/header +correlation-id: c-1/);
    expect(text.stdout).toMatch(
      /published +execute-quote {2}the command[^]*INTENT +call 1[^]*DOUBTFUL[^]*may have taken effect since[^]*result +ACCEPTED/,
    );
    expect(text.stdout).toMatch(/transaction +.* -> /);
    expect(text.stdout).toMatch(/not kept +each call's own answer/);
    expect(text.stdout).toMatch(/not kept +each single look-up/);
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
    await stack().service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key, count: 1 });
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
    expect((await stack().journal.result(key)).value.outcome).toBe('UNKNOWN');
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
    expect(JSON.stringify(run.documents[0]?.notRead)).toContain('offsets before the newest 1 were not read (--newest)');
    const late = await show(key, '--read-for', '1ms');
    expect(late.stdout + late.stderr).toMatch(/not read to their end within 1 ms \(--read-for\)/);
  });

  test('exits with 3 for a key that is known nowhere, and with 2 for what is no key', async () => {
    const nowhere = await show('nobody-knows');
    expect(nowhere).toMatchObject({ code: 3, stdout: '' });
    expect(nowhere.stderr).toContain('is known nowhere');
    expect(await show('a.execute')).toMatchObject({ code: 2 });
    expect(await show()).toMatchObject({ code: 2 });
    expect(await show('key', '--quote', 'Quote:1')).toMatchObject({ code: 2 });
    expect(await show('--transaction', 'Transaction:none')).toMatchObject({ code: 3 });
  });

  test('of a message that nobody has admitted yet says so', async () => {
    await stack().endProcessors();
    await stack().publisher.publish('transfer-in', 'waiting', transferInOf('waiting'));
    const run = await show('waiting');
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(/state +not in the ledger: not admitted yet/);
    expect(run.stdout).toContain('docs/runbooks/PaymentsOldestUnansweredTooOld.md');
    await stack().startProcessor();
    await stack().journal.result('waiting');
  });
});

describe('show by payment', () => {
  test('finds the commands of a transaction and of a quote, those that only the ledger knows as well', async () => {
    const key = 'two-commands';
    await stack().publisher.publish('create-quote', key, createQuoteOf(key));
    const { quote } = (await stack().journal.result(key)).value;
    const [quoteId, transactionId] = [quote?.id ?? '', quote?.transactionId ?? ''];
    await stack().service.addFaults({
      kind: 'status',
      httpStatus: 429,
      retryAfter: '600',
      operation: 'execute-quote',
      key: 'its-execution',
    });
    await stack().publisher.publish('execute-quote', 'its-execution', { quoteId, transactionId });
    const keysOf = async (...args: string[]): Promise<unknown[]> =>
      (await showJson(...args)).documents.map((document) => document.key).sort();
    await expect.poll(() => keysOf('--quote', quoteId), { timeout: 40_000 }).toEqual(['its-execution', key]);
    expect(await keysOf('--transaction', transactionId)).toEqual(['its-execution', key]);
  });
});
