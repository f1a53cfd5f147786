import { beforeAll, describe, expect, test } from 'vitest';
import { executionOf, transferInOf } from '../../../test/support/commands.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli, type CliRun } from './run-cli.ts';
import { unknownTransfer } from '../../../test/support/lost-answer.ts';

// The service honours no key: a lost transfer-in is settled by nobody.
const stack = useStack({ name: 'unknown', sandbox: { honourKeys: [] }, settings: { API_IDEMPOTENT_OPERATIONS: '' } });
/** As a shell must be given it: in quotes. */
const QUOTED_KEY = "order'$(reboot)";

const list = (...args: string[]): Promise<CliRun> => runCli({ ...stack().environment }, 'unknown', 'list', ...args);
const listJson = (...args: string[]): Promise<CliRun> =>
  runCli({ ...stack().environment }, '--output', 'json', 'unknown', 'list', ...args);

beforeAll(async () => {
  await stack().startProcessor();
});

describe('unknown list', () => {
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
    const execution = await executionOf(stack(), 'executed');
    await stack().service.addFaults({ kind: 'drop-after', operation: 'execute-quote', key: 'executed', count: 1 });
    await stack().publisher.publish('execute-quote', 'executed', execution);
    expect((await stack().journal.result('executed')).value.outcome).toBe('ACCEPTED');
    const decision = { decision: 'NOT_EXECUTED', expectedRevision: 1, operator: 'ada', reason: 'not in the list' };
    await stack().publishDecision('decided', decision);
    await stack().journal.resultsOf('decided', 2);

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
      /^first {2}transfer-in {2}transaction not known {2}first call 2.*UNKNOWN for \d+ .* lane \d/m,
    );
    expect(text.stdout).toContain('npm run cli -- show first\n');
    expect(text.stdout).toMatch(/npm run cli -- transactions list --all --start-date 2\S+Z$/m);
    expect(text.stdout).toMatch(/npm run cli -- resolve first --decision '.*' --expected-revision 1 --reason '.*'$/m);
    expect(text.stdout).toContain(String.raw`resolve 'order'\''$(reboot)' --decision`);

    const limited = await list('--limit', '1');
    expect(limited.stdout).not.toContain('reboot');
    expect(limited.stderr).toContain('1 more are not shown (--limit)');
  });

  test('decides nothing with its resolve line as it stands', async () => {
    const run = await runCli(
      { ...stack().environment },
      ...['resolve', 'first', '--decision', 'EXECUTED, NOT_EXECUTED or RETRY', '--expected-revision', '1'],
      ...['--reason', 'what was found', '--yes'],
    );
    expect(run.code).toBe(2);
    expect(stack().journal.results('first')).toHaveLength(1);
  });

  test('says why it cannot tell more: a limit of time, a registry that does not answer', async () => {
    const late = await list('--read-for', '1ms');
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/not read: the ledger: not read to their end within 1 ms/);
    const registry = await runCli(
      { ...stack().environment, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' },
      ...['--output', 'json', 'unknown', 'list'],
    );
    expect(registry).toMatchObject({ code: 0 });
    expect(registry.documents).toMatchObject([{ key: 'first', code: null, problem: null }, { key: QUOTED_KEY }]);
    expect(registry.stderr).toContain('could not be read of 2: see the schema registry');
  });
});
