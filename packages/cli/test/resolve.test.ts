/** `unknown list` and `resolve`: the results that wait for an operator, and the decisions on them. */
import { userInfo } from 'node:os';
import { beforeAll, describe, expect, test } from 'vitest';
import { executionOf, transferInOf } from '../../../test/support/commands.ts';
import type { RunningProcessor } from '../../../test/support/processor.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli, type CliRun } from './run-cli.ts';
import { unknownTransfer } from '../../../test/support/lost-answer.ts';

// The service honours no key: a lost transfer-in is settled by nobody.
const stack = useStack({
  name: 'resolve',
  sandbox: { honourKeys: [] },
  settings: { API_IDEMPOTENT_OPERATIONS: '' },
});

let processor: RunningProcessor;

beforeAll(async () => {
  processor = await stack().startProcessor();
});

const cli = (...args: string[]): Promise<CliRun> => runCli({ ...stack().environment }, ...args);
const resolve = (...args: string[]): Promise<CliRun> => cli('--output', 'json', 'resolve', ...args);
/** As a shell must be given it: in quotes. */
const QUOTED_KEY = "order'$(reboot)";

/** The transaction that the service made of the key's call. */
async function transactionOf(key: string): Promise<string> {
  const { operations } = await stack().service.effects();
  return operations['transfer-in'][key]?.transactionIds[0] ?? '';
}

describe('unknown list', () => {
  const list = (...args: string[]): Promise<CliRun> => cli('unknown', 'list', ...args);
  const listJson = (): Promise<CliRun> => cli('--output', 'json', 'unknown', 'list');

  test('says so where nothing is UNKNOWN, with exit code 0', async () => {
    await stack().publisher.publish('transfer-in', 'well', transferInOf('well'));
    await stack().journal.result('well');
    const run = await list();
    expect(run).toMatchObject({ code: 0, stdout: '' });
    expect(run.stderr).toContain('no result is UNKNOWN');
  });

  test('lists what nobody decided, oldest first, with what to do; what was decided is gone', async () => {
    await unknownTransfer(stack(), 'first');
    await unknownTransfer(stack(), 'decided');
    await unknownTransfer(stack(), QUOTED_KEY);
    const execution = await executionOf(stack(), 'settled');
    await stack().service.addFaults({ kind: 'drop-after', operation: 'execute-quote', key: 'settled', count: 1 });
    await stack().publisher.publish('execute-quote', 'settled', execution);
    expect((await stack().journal.result('settled')).value.outcome).toBe('ACCEPTED');
    expect(await resolve('decided', '--decision', 'NOT_EXECUTED', '--reason', 'not in the list')).toMatchObject({
      code: 0,
    });

    const run = await listJson();
    expect(run).toMatchObject({ code: 0 });
    expect(run.documents.map(({ key }) => key)).toEqual(['first', QUOTED_KEY]);
    const [first] = run.documents;
    expect(first).toMatchObject({ command: 'transfer-in', transactionId: null, quoteId: null, code: 'UNDECIDABLE' });
    expect(first?.firstCall).toMatch(/^2\d{3}-/);
    expect(JSON.stringify(first?.ageSeconds)).toMatch(/^\d+$/);

    const text = await list();
    expect(text).toMatchObject({ code: 0 });
    expect(text.stdout).toMatch(
      /^first {2}transfer-in {2}transaction unknown {2}first call 2.*UNKNOWN for \d+ .* lane \d/m,
    );
    expect(text.stdout).toContain('npm run cli -- show first\n');
    expect(text.stdout).toMatch(/npm run cli -- transactions list --all --sort-order asc --start-date 2\S+Z$/m);
    expect(text.stdout).toMatch(/npm run cli -- resolve first --decision '.*' --expected-revision 1 --reason '.*'$/m);
    expect(text.stdout).toContain(String.raw`resolve 'order'\''$(reboot)' --decision`);

    // In a pod the system's user is nobody's name, and the decision is kept with a name.
    const ofPod = await runCli({ ...stack().environment, KUBERNETES_SERVICE_HOST: '10.0.0.1' }, 'unknown', 'list');
    expect(ofPod.stdout).toMatch(/kubectl exec -it \S+ -- env PAYMENTS_OPERATOR="\$USER" node \S+ resolve first /);

    const limited = await list('--limit', '1');
    expect(limited.stdout).not.toContain('reboot');
    expect(limited.stderr).toContain('1 more are not shown (--limit)');
  });

  test('decides nothing with its resolve line as it stands', async () => {
    const words = ['--decision', 'EXECUTED, NOT_EXECUTED or RETRY', '--expected-revision', '1'];
    const run = await resolve('first', ...words, '--reason', 'what was found', '--yes');
    expect(run.code).toBe(2);
    expect(stack().journal.results('first')).toHaveLength(1);
  });

  test('says why it cannot tell more: a limit of time, a registry that does not answer', async () => {
    const late = await list('--read-for', '1ms');
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/not read: the end of the ledger: it took longer than 1 ms/);
    const registry = await runCli(
      { ...stack().environment, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' },
      ...['--output', 'json', 'unknown', 'list'],
    );
    expect(registry).toMatchObject({ code: 0 });
    expect(registry.documents).toMatchObject([{ key: 'first', code: null, problem: null }, { key: QUOTED_KEY }]);
    expect(registry.stderr).toContain('could not be read for 2: check the schema registry');
  });
});

describe('resolve', () => {
  test('shows the present result, publishes the decision and prints what it came to', async () => {
    await unknownTransfer(stack(), 'executed');
    const id = await transactionOf('executed');
    const args = ['--decision', 'EXECUTED', '--reason', 'in the list', '--transaction-id', id];
    const run = await resolve('executed', ...args);
    expect(run).toMatchObject({ code: 0 });
    expect(run.stderr).toContain(`${id} exists; these fields match the command: source, destination, received amount`);
    expect(run.stderr).toMatch(/other transactions of its customer .*: \d+; 0 of them match/);
    expect(run.stderr).toMatch(/current: UNKNOWN {3}transfer-in {2}executed {2}revision 1/);
    expect(run.documents).toMatchObject([
      { kind: 'result', key: 'executed', value: { outcome: 'ACCEPTED', transaction: { id } } },
    ]);
    expect(run.stdout).toContain(`"EXECUTED on revision 1 by ${userInfo().username}: in the list"`);
  });

  test('looks at the transaction first: one that is not there, is another payment or cannot be seen needs a flag', async () => {
    await unknownTransfer(stack(), 'looked-at');
    await unknownTransfer(stack(), 'looked-at-other');
    const decide = (environment: Record<string, string>, id: string, ...more: string[]): Promise<CliRun> => {
      const args = ['--decision', 'EXECUTED', '--reason', 'x', '--transaction-id', id, ...more];
      return runCli({ ...stack().environment, ...environment }, '--output', 'json', 'resolve', 'looked-at', ...args);
    };
    const absent = await decide({}, 'Transaction:5');
    expect(absent).toMatchObject({ code: 7, documents: [] });
    expect(absent.stderr).toMatch(/does not list a transaction Transaction:5.*--unverified; nothing was sent/);
    const another = await decide({}, await transactionOf('looked-at-other'));
    expect(another).toMatchObject({ code: 7, documents: [] });
    expect(another.stderr).toMatch(
      /does not show what the command requested.*destination is InternalAccount:looked-at-other-x, but the command requested InternalAccount:looked-at-x/,
    );
    const id = await transactionOf('looked-at');
    for (const environment of [{ API_BASE_URL: '' }, { API_BASE_URL: 'http://127.0.0.1:1/2025-10-13' }]) {
      const unseen = await decide(environment, id);
      expect(unseen).toMatchObject({ code: 7, documents: [] });
      expect(unseen.stderr).toMatch(/could not be checked.*--unverified/);
    }
    expect(stack().journal.results('looked-at')).toHaveLength(1);
    const decided = await decide({}, 'Transaction:5', '--unverified');
    expect(decided).toMatchObject({ code: 0, documents: [{ value: { outcome: 'ACCEPTED' } }] });
    expect(decided.stderr).toMatch(/warning: .*Transaction:5.*decided anyway/);
  });

  test('takes the transaction of another command for none of this one, though it fits', async () => {
    const fields = transferInOf('same-payment');
    await stack().publisher.publish('transfer-in', 'paid', fields);
    const id = (await stack().journal.result('paid')).value.transaction?.id ?? '';
    await stack().service.addFaults({ kind: 'drop-before', operation: 'transfer-in', key: 'not-paid', count: 1 });
    await stack().publisher.publish('transfer-in', 'not-paid', fields);
    expect((await stack().journal.result('not-paid')).value.outcome).toBe('UNKNOWN');
    const run = await resolve('not-paid', '--decision', 'EXECUTED', '--reason', 'in the list', '--transaction-id', id);
    expect(run).toMatchObject({ code: 7, documents: [] });
    expect(run.stderr).toMatch(/already belongs to another command: paid .*--unverified; nothing was sent/);
    expect(stack().journal.results('not-paid')).toHaveLength(1);
  });

  test('takes the transaction that another command may have made, as far as anybody knows, for none of this one', async () => {
    const fields = transferInOf('lost-alike');
    for (const [key, kind] of [['lost-after', 'drop-after'] as const, ['lost-before', 'drop-before'] as const]) {
      await stack().service.addFaults({ kind, operation: 'transfer-in', key, count: 1 });
      await stack().publisher.publish('transfer-in', key, fields);
      expect((await stack().journal.result(key)).value.outcome).toBe('UNKNOWN');
    }
    const args = ['--decision', 'EXECUTED', '--reason', 'x', '--transaction-id', await transactionOf('lost-after')];
    const run = await resolve('lost-before', ...args);
    expect(run).toMatchObject({ code: 7, documents: [] });
    expect(run.stderr).toMatch(
      /may belong to another command.*: lost-after, UNKNOWN \(.*--unverified; nothing was sent/,
    );
    expect(stack().journal.results('lost-before')).toHaveLength(1);

    // Nor once that command was decided without naming its transaction.
    const unnamed = await resolve('lost-after', '--decision', 'EXECUTED', '--reason', 'in the list');
    expect(unnamed).toMatchObject({ code: 0 });
    expect(unnamed.stderr).toMatch(/no transaction is named, so nothing was compared.*give --transaction-id/);
    const again = await resolve('lost-before', ...args);
    expect(again).toMatchObject({ code: 7, documents: [] });
    expect(again.stderr).toMatch(
      /may be the one for which another command was decided EXECUTED, without a transaction id: lost-after/,
    );
  });

  test('carries out NOT_EXECUTED with exit code 0, and RETRY by how the command ends', async () => {
    await unknownTransfer(stack(), 'absent');
    const absent = await resolve('absent', '--decision', 'NOT_EXECUTED', '--reason', 'not there', '--operator', 'ada');
    expect(absent).toMatchObject({ code: 0, documents: [{ value: { outcome: 'EXPIRED' } }] });
    expect(absent.stdout).toContain('by ada: not there');
    expect(absent.stderr).toContain('no transaction is named, so nothing was looked up');
    const shown = await cli('show', 'absent');
    expect(shown.stdout).toMatch(/^payment +none by this command, on the word of an operator: EXPIRED$/m);
    expect(shown.stdout).toContain('docs/runbooks/unknown-results.md');
    expect(shown.stdout).not.toContain('PaymentsCommandsExpired');
    const corrected = await resolve('absent', '--decision', 'EXECUTED', '--reason', 'x', '--expected-revision', '2');
    expect(corrected).toMatchObject({ code: 7, documents: [] });
    expect(corrected.stderr).toMatch(/only an UNKNOWN result.*is EXPIRED.*unknown-results\.md; nothing was sent/);
    const retried = await resolve('absent', '--decision', 'RETRY', '--reason', 'now', '--expected-revision', '2');
    expect(retried).toMatchObject({ code: 0, documents: [{ value: { outcome: 'ACCEPTED', settledBy: 'ANSWER' } }] });
    expect(retried.stderr).toMatch(/only an operator's word.*look the payment up again first/);

    await unknownTransfer(stack(), 'lost-again');
    const lost = await resolve('lost-again', '--decision', 'RETRY', '--reason', 'try');
    expect(lost).toMatchObject({ code: 4, documents: [{ value: { outcome: 'UNKNOWN' } }] });
    expect(lost.stderr).toContain('UNKNOWN');
  });

  test('decides on no revision that a colleague has made meanwhile, unless it is named', async () => {
    await unknownTransfer(stack(), 'overtaken');
    const first = ['--decision', 'NOT_EXECUTED', '--reason', 'its publisher sends it anew', '--operator', 'ada'];
    expect(await resolve('overtaken', ...first)).toMatchObject({ code: 0 });
    // Meant for an UNKNOWN, where it is safe.
    const retry = ['--decision', 'RETRY', '--reason', 'the list works again', '--yes'];
    const late = await resolve('overtaken', ...retry);
    expect(late).toMatchObject({ code: 7, documents: [] });
    expect(late.stderr).toMatch(/NOT_EXECUTED on revision 1 by ada: .*--expected-revision 2; nothing was sent/);
    const { operations } = await stack().service.effects();
    expect(operations['transfer-in']['overtaken']).toMatchObject({ effects: 1 });
    expect(await resolve('overtaken', ...retry, '--expected-revision', '2')).toMatchObject({ code: 0 });
  });

  test('that was buried is not redriven, and acknowledged it is no doubt about the payment', async () => {
    const key = 'buried-retry';
    await unknownTransfer(stack(), key);
    const absent = ['--decision', 'NOT_EXECUTED', '--reason', 'its publisher sends it anew', '--operator', 'ada'];
    expect(await resolve(key, ...absent)).toMatchObject({ code: 0, documents: [{ value: { outcome: 'EXPIRED' } }] });
    // Published by another tool, which forgot the content type.
    const retry = { decision: 'RETRY', expectedRevision: 2, operator: 'dana', reason: 'ticket 4711' };
    await stack().publishDecision(key, retry, { 'content-type': 'text/plain' });
    const { partition, offset } = await stack().journal.deadLetter((letter) => letter.key?.toString() === key, key);
    const { operations } = await stack().service.effects();
    const many = ['--reason', 'UNREADABLE', '--header', 'content-type=application/json', '--yes'];
    const run = await cli('--output', 'json', 'dead-letters', 'redrive', ...many);
    // Judged after the retry, if that was published.
    const late = await resolve(key, '--decision', 'EXECUTED', '--reason', 'x', '--expected-revision', '9');
    expect(late.stderr).toContain('REFUSED_DECISION');
    expect((await stack().service.effects()).operations['transfer-in'][key]).toEqual(operations['transfer-in'][key]);
    expect(run).toMatchObject({ code: 7, documents: [{ status: 'refused' }] });
    expect(run.stdout).toMatch(/an operator's decision.*decide again with `resolve`/);
    // Only `resolve` checks whether it may pay twice.
    const alone = await cli('dead-letters', 'redrive', `${partition}/${offset}`, '--yes');
    expect(alone).toMatchObject({ code: 7, stdout: '' });
    const place = `${partition}/${offset}`;
    expect(await cli('dead-letters', 'acknowledge', place, '--because', 'decided again')).toMatchObject({ code: 0 });
    const again = await resolve(key, '--decision', 'RETRY', '--reason', 'ticket 4711', '--expected-revision', '2');
    expect(again).toMatchObject({ code: 0, documents: [{ value: { outcome: 'ACCEPTED' } }] });
  });

  describe('a RETRY', () => {
    const buried = async (key: string): Promise<string> => {
      const value = JSON.stringify(transferInOf(key), (_, amount: unknown) => (amount === 100n ? 100 : amount));
      await stack().publishRaw('transfer-in', { key, value, headers: { 'content-type': 'text/plain' } });
      const letter = await stack().journal.deadLetter((record) => record.key?.toString() === key, key);
      return `${letter.partition}/${letter.offset}`;
    };
    const redrive = async (place: string, ...flags: string[]): Promise<CliRun> =>
      cli('dead-letters', 'redrive', place, '--header', 'content-type=application/json', '--yes', '--await', ...flags);
    const retry = async (key: string): Promise<CliRun> =>
      resolve(key, '--decision', 'RETRY', '--reason', 'the cause is fixed', '--yes');

    test('of a message that was redriven under another key is refused', async () => {
      const place = await buried('redriven-besides');
      expect(await redrive(place, '--key', 'redriven-besides-2')).toMatchObject({ code: 0 });
      const run = await retry('redriven-besides');
      expect(run).toMatchObject({ code: 7, documents: [] });
      expect(run.stderr).toMatch(/redriven under redriven-besides-2 by .*--unverified; nothing was sent/);
    });

    test('counts every other way of its message: no redrive under its own key, but its earlier key, and what was acknowledged', async () => {
      const late = ['--header', 'expires-at=2026-01-01T00:00:00Z'];
      const key = 'went-on';
      await stack().publisher.publish('transfer-in', key, transferInOf(key), { expiresAt: new Date('2026-01-01') });
      const place = await buried(key);
      expect(await redrive(place, ...late)).toMatchObject({ code: 4 });
      expect(await retry(key)).toMatchObject({ code: 4, stdout: expect.stringContaining('EXPIRED') as string });

      expect(await redrive(place, ...late, '--key', `${key}-2`, '--again-may-pay-twice')).toMatchObject({ code: 4 });
      const later = await retry(`${key}-2`);
      expect(later).toMatchObject({ code: 7, documents: [] });
      expect(later.stderr).toMatch(/the command of its earlier key went-on is EXPIRED.*--unverified; nothing was sent/);

      const closed = await buried('closed');
      const because = 'the publisher sent it again as closed-2';
      expect(await cli('dead-letters', 'acknowledge', closed, '--because', because)).toMatchObject({ code: 0 });
      const last = await retry('closed');
      expect(last).toMatchObject({ code: 7, documents: [] });
      expect(last.stderr).toContain(because);
    });
  });

  test('tells a refusal with its reason and exit code 7', async () => {
    await unknownTransfer(stack(), 'stale');
    const stale = await resolve('stale', '--decision', 'RETRY', '--reason', 'x', '--expected-revision', '7');
    expect(stale).toMatchObject({ code: 7, documents: [] });
    expect(stale.stderr).toMatch(/REFUSED_DECISION.*revision 7.*revision 1/);
    const well = await resolve('well', '--decision', 'NOT_EXECUTED', '--reason', 'x');
    expect(well).toMatchObject({ code: 7, documents: [] });
    expect(well.stderr).toContain('ACCEPTED');
  });

  test('of two who decide at once under one name and reason, tells one that it was carried out and the other that not', async () => {
    await unknownTransfer(stack(), 'twice');
    const outcomes = { EXECUTED: 'ACCEPTED', NOT_EXECUTED: 'EXPIRED' };
    const runs = await Promise.all(
      Object.entries(outcomes).map(async ([decision, outcome]) => {
        const args = ['--decision', decision, '--reason', 'looked up', '--operator', 'ada', '--expected-revision', '1'];
        return { ...(await resolve('twice', ...args)), outcome };
      }),
    );
    const [carriedOut, refused] = runs.sort((left, right) => (left.code ?? 0) - (right.code ?? 0));
    expect(carriedOut).toMatchObject({ code: 0, documents: [{ value: { outcome: carriedOut?.outcome } }] });
    expect(refused).toMatchObject({ code: 7, documents: [] });
    expect(refused?.stderr).toMatch(/the processor refused the decision, which changed nothing about twice/);
  });

  test('of a key that is not known, or not finished, publishes nothing', async () => {
    const before = stack().journal.deadLetters().length;
    const none = await resolve('nobody', '--decision', 'RETRY', '--reason', 'x');
    expect(none).toMatchObject({ code: 3, documents: [] });
    const later = { kind: 'status', httpStatus: 429, retryAfter: 600 } as const;
    await stack().service.addFaults({ ...later, operation: 'transfer-in', key: 'parked' });
    await stack().publisher.publish('transfer-in', 'parked', transferInOf('parked'));
    await expect
      .poll(async () => (await resolve('parked', '--decision', 'RETRY', '--reason', 'x')).stderr, { timeout: 30_000 })
      .toMatch(/parked has no result yet.*PARKED/);
    expect(stack().journal.deadLetters()).toHaveLength(before);
  });

  test.each([
    ['no decision', ['key', '--reason', 'x'], /--decision/],
    ['another decision', ['key', '--decision', 'MAYBE', '--reason', 'x'], /EXECUTED/],
    ['no reason', ['key', '--decision', 'RETRY'], /--reason/],
    ['an empty reason', ['key', '--decision', 'RETRY', '--reason', ' '], /--reason/],
    ['a transaction for a retry', ['key', '--decision', 'RETRY', '--reason', 'x', '--transaction-id', 'T'], /EXECUTED/],
    ['a key with a blank', ['a key', '--decision', 'RETRY', '--reason', 'x'], /key/],
    ['revision 0', ['key', '--decision', 'RETRY', '--reason', 'x', '--expected-revision', '0'], /whole number/],
  ])('refuses %s with exit code 2', async (_what, args, message) => {
    const run = await resolve(...args);
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(message);
  });

  test('says when no processor answered, with exit code 5; one that comes back carries it out', async () => {
    await unknownTransfer(stack(), 'unheard');
    processor.freeze();
    const run = await resolve('unheard', '--decision', 'EXECUTED', '--reason', 'x', '--wait-for', '500ms');
    processor.thaw();
    expect(run).toMatchObject({ code: 5, documents: [] });
    expect(run.stderr).toMatch(/may still be carried out.*doctor/);
    const results = await stack().journal.resultsOf('unheard', 2);
    expect(results[1]?.value).toMatchObject({ outcome: 'ACCEPTED', revision: 2 });
  });
});
