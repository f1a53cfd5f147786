import { beforeAll, describe, expect, test } from 'vitest';
import { stringifyLossless } from 'payment-processor-client';
import { laneOf } from 'payment-processor-contract/keys';
import { openTransaction } from '../../client/test/fixtures.ts';
import { transferInOf } from '../../../test/support/commands.ts';
import { LANES } from '../../../test/support/stack.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli, type CliRun } from './run-cli.ts';

const stack = useStack({ name: 'redrive' });

beforeAll(async () => {
  await stack().startProcessor();
});

const redrive = (...args: string[]): Promise<CliRun> =>
  runCli({ ...stack().environment }, '--output', 'json', 'dead-letters', 'redrive', ...args);
const known = async (key: string): Promise<number | null> =>
  (await runCli({ ...stack().environment }, 'ledger', 'show', key)).code;

/** JSON whose publisher forgot to say so: its key gets an INVALID result, or keeps the one that it has. */
async function buryWithoutType(
  key: string,
  amount = 100,
  headers: Record<string, string> = { ce_id: `${key}-id` },
): Promise<string> {
  const account = `InternalAccount:${key}-secret-x`;
  const value = `{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"${account}"},"amount":${amount}}`;
  const letters = stack().journal.deadLetters().length;
  await stack().publishRaw('transfer-in', { key, value, headers });
  await stack().journal.until(() => stack().journal.deadLetters().length > letters, `${key} to be buried`);
  const letter = stack().journal.deadLetters().at(-1);
  return `${letter?.partition ?? ''}/${letter?.offset ?? ''}`;
}

describe('dead-letters redrive --reason', () => {
  test('publishes all of a reason with a header set, awaits their results, and leaves out what may be paid already', async () => {
    const keys = ['bulk-1', 'bulk-2', 'bulk-3'];
    for (const key of keys) await buryWithoutType(key);
    await stack().publisher.publish('transfer-in', 'bulk-paid', transferInOf('bulk-paid'));
    await stack().journal.result('bulk-paid');
    await buryWithoutType('bulk-paid');
    const args = ['--reason', 'UNREADABLE', '--key-suffix=-again', '--header', 'content-type=application/json'];

    const dry = await redrive(...args, '--dry-run');
    expect(dry).toMatchObject({ code: 0 });
    expect(
      dry.documents
        .filter(({ status }) => status === 'would-be-published')
        .map(({ key }) => key)
        .sort(),
    ).toEqual(keys.map((key) => `${key}-again`));
    expect(dry.documents.filter(({ status }) => status === 'refused')).toMatchObject([
      { problem: expect.stringMatching(/own key bulk-paid is ACCEPTED: it may be the same payment/) as string },
    ]);
    expect(dry.stderr).toContain('nothing was sent');
    expect(await redrive(...args)).toMatchObject({ code: 8 });
    for (const key of keys) expect(await known(`${key}-again`)).toBe(3);

    const run = await redrive(...args, '--await', '--yes');
    expect(run).toMatchObject({ code: 7 });
    expect(run.stderr).toMatch(/3 published, 1 not/);
    const published = run.documents.filter(({ status }) => status === 'published');
    expect(published.map(({ key, outcome }) => [key, outcome]).sort()).toEqual(
      keys.map((key) => [`${key}-again`, 'ACCEPTED']),
    );
    expect(run.stdout).not.toContain('secret-x');
    expect(await known('bulk-paid-again')).toBe(3);
    for (const key of keys) expect(stack().journal.results(`${key}-again`)).toHaveLength(1);

    await buryWithoutType('bulk-1');
    const again = await redrive(
      ...args.filter((arg) => !arg.startsWith('--key-suffix')),
      '--key-suffix=.2',
      '--await',
      '--yes',
    );
    expect(again.documents.filter(({ status }) => status === 'refused').map(({ problem }) => problem)).toContainEqual(
      expect.stringMatching(/another dead letter of the key bulk-1, .*redriven as bulk-1-again/),
    );
    expect(again.stderr).toContain('3 with the reason UNREADABLE were redriven before');
    expect(again.documents.filter(({ status }) => status === 'published')).toEqual([]);
    for (const key of keys) expect(stack().journal.results(`${key}-again`)).toHaveLength(1);
  });

  test('publishes nothing while an open transaction hides whether the command of a letter’s own key is paid', async () => {
    const { kafka, topics } = stack();
    const end = await openTransaction(kafka, topics.ledger, laneOf('hidden', LANES));
    await stack().publisher.publish('transfer-in', 'hidden', transferInOf('hidden'));
    await stack().journal.result('hidden');
    await buryWithoutType('hidden');
    const args = ['--reason', 'UNREADABLE', '--key-suffix=.h', '--header', 'content-type=application/json', '--yes'];
    const run = await redrive(...args);
    expect(run).toMatchObject({ code: 1, documents: [] });
    expect(run.stderr).toMatch(/behind an open transaction.*nothing was sent/);
    await end();
    const endLetters = await openTransaction(kafka, topics.deadLetters, laneOf('hidden', LANES));
    expect(await redrive(...args)).toMatchObject({ code: 1, documents: [] });
    const list = await runCli({ ...stack().environment }, 'dead-letters', 'list');
    expect(list.stdout).toContain('hidden');
    expect(list.stderr).toMatch(/not read: 1 message of \S+\.dead-letters\.v1/);
    expect(list.code).toBe(1);
    await endLetters();
    expect((await redrive(...args, '--dry-run')).documents).toContainEqual(
      expect.objectContaining({ problem: expect.stringMatching(/own key hidden is ACCEPTED/) as string }),
    );
  });

  test('leaves out the second of two letters with one key, and what is beyond the limit', async () => {
    await buryWithoutType('twin', 1);
    await buryWithoutType('twin', 2);
    const args = [
      '--reason',
      'UNREADABLE',
      '--key-suffix=.b',
      '--header',
      'content-type=application/json',
      '--dry-run',
    ];
    const run = await redrive(...args);
    const twins = run.documents.filter((document) => JSON.stringify(document).includes('twin'));
    expect(twins.map(({ status }) => status).sort()).toEqual(['refused', 'would-be-published']);
    const first = await redrive(...args, '--limit', '1');
    expect(first.documents).toHaveLength(1);
    expect(first.stderr).toMatch(/\d+ more are beyond --limit 1/);
  });

  test.each([
    ['a place and a reason', ['0/0', '--reason', 'UNREADABLE']],
    ['neither', []],
    ['a key for many', ['--reason', 'UNREADABLE', '--key', 'x']],
    ['paying many twice', ['--reason', 'UNREADABLE', '--again-may-pay-twice']],
    ["a header of the processor's own", ['0/0', '--header', 'moved-offset=1']],
    ['a header without a value', ['0/0', '--header', 'content-type']],
  ])('refuses %s with exit code 2', async (_what, args) => {
    expect(await redrive(...args, '--yes')).toMatchObject({ code: 2, documents: [] });
  });
});

describe('dead-letters redrive of one', () => {
  test('tells with --await how it ended, by the exit code as well; --dry-run marks nothing', async () => {
    const place = await buryWithoutType('one');
    expect(await redrive(place, '--key', 'one-again', '--dry-run')).toMatchObject({
      code: 0,
      documents: [{ status: 'would-be-published', key: 'one-again' }],
    });
    const unmended = await redrive(place, '--key', 'one-again', '--await', '--yes');
    expect(unmended).toMatchObject({ code: 4, documents: [{ status: 'published', outcome: 'INVALID' }] });
    const type = 'content-type=application/json';
    const [mended] = [await buryWithoutType('two')];
    const late = ['--header', 'expires-at=2020-01-01T00:00:00Z'];
    const expired = await redrive(mended, '--key', 'two-again', '--header', type, ...late, '--await', '--yes');
    expect(expired).toMatchObject({ code: 4, documents: [{ outcome: 'EXPIRED' }] });
    expect(expired.stderr).toMatch(/its expires-at, 2020-01-01T00:00:00Z, has passed/);
  });

  test('says when no result came in time, with exit code 5', async () => {
    const place = await buryWithoutType('unheard');
    await stack().endProcessors();
    const type = ['--header', 'content-type=application/json'];
    const run = await redrive(place, '--key', 'unheard-again', ...type, '--await', '--await-for', '500ms', '--yes');
    expect(run).toMatchObject({ code: 5, documents: [{ status: 'published' }] });
    await stack().startProcessor();
    expect((await stack().journal.result('unheard-again')).value.outcome).toBe('ACCEPTED');
  });

  test.each([
    ['neither came with an id', 'unnamed', {}],
    ['both came with one id', 'one-id', { ce_id: 'one-id' }],
  ])('does not take the result of another message for that of its own, though %s', async (_how, name, ids) => {
    const place = await buryWithoutType(name, 1, ids);
    await stack().endProcessors();
    const key = `${name}-again`;
    const headers = { 'content-type': 'application/json', ...ids };
    await stack().publishRaw('transfer-in', { key, value: stringifyLossless(transferInOf(key, 2n)), headers });
    const type = ['--header', 'content-type=application/json'];
    const run = redrive(place, '--key', key, ...type, '--await', '--yes');
    await stack().journal.deadLetter((note) => note.headers['dlq-redriven-key'] === key, 'the mark of the redrive');
    await stack().startProcessor();
    expect(await run).toMatchObject({ code: 4, documents: [{ status: 'published', outcome: 'CONFLICT' }] });
  });
});

test('a letter whose id is too long for any result to name is refused, until it is given another', async () => {
  const place = await buryWithoutType('long-id', 100, { ce_id: 'x'.repeat(1_025) });
  const args = [place, '--key', 'long-id-1', '--header', 'content-type=application/json', '--await', '--yes'];
  const refused = await redrive(...args);
  expect(refused).toMatchObject({ code: 7 });
  expect(refused.stderr).toMatch(/its ce_id has more than 1024 characters.*--header ce_id=ID; nothing was sent/);
  expect(await redrive(...args, '--header', 'ce_id=short')).toMatchObject({ code: 0 });
});
