/** `dead-letters` against a processor that buries what it cannot read: what is shown, marked, and published again. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { stringifyLossless } from 'payment-processor-client';
import { readConfig } from 'payment-processor-contract/config';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { laneOf } from 'payment-processor-contract/keys';
import { openTransaction, sendTo } from '../../client/test/fixtures.ts';
import type { ProcessorState } from '../../../src/ops/processor-state.ts';
import { transferInOf } from '../../../test/support/commands.ts';
import type { RunningProcessor } from '../../../test/support/processor.ts';
import { faultyFor, LANES } from '../../../test/support/stack.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { eventually } from '../../../test/support/watch.ts';
import { readLetter } from '../src/read-letter.ts';
import { claimLetters } from '../src/redrive-notes.ts';
import { runCli, type CliRun } from './run-cli.ts';

const stack = useStack({ name: 'letters' });
const ODD_BYTES = Buffer.from([0xff, 0x00, 0xfe]);
/** Dead letters without a key and with the same content count as one payment. */
const commandOf = (payer: string): string =>
  `{"source":{"accountId":"ExternalAccount:${payer}"},"destination":{"accountId":"InternalAccount:letters-x"},"amount":250}`;
const COMMAND = commandOf('payer-x');
const JSON_TYPE = ['--header', 'content-type=application/json'];

let processor: RunningProcessor;

beforeAll(async () => {
  processor = await stack().startProcessor(faultyFor('aside'));
});

const cli = (...args: string[]): Promise<CliRun> => runCli({ ...stack().environment }, ...args);
const letters = (...args: string[]): Promise<CliRun> => cli('dead-letters', ...args);
const lettersJson = (...args: string[]): Promise<CliRun> => cli('--output', 'json', 'dead-letters', ...args);
const redrive = (...args: string[]): Promise<CliRun> => lettersJson('redrive', ...args);
/** 3: the ledger does not know the key. */
const known = async (key: string): Promise<number | null> => (await cli('ledger', 'show', key)).code;

/** @returns where the dead letter of a message lies that has this mark */
async function bury(
  key: string | Buffer | null,
  value: string | Buffer,
  mark: string,
  headers: Record<string, string | Buffer> = {
    ...{ 'content-type': 'application/json', odd: ODD_BYTES, ce_subject: 'old', ce_id: mark },
  },
): Promise<string> {
  const partition = key === null ? { partition: 0 } : {};
  await stack().publishRaw('transfer-in', { key, value, headers: { ...headers, mark }, ...partition });
  const letter = await stack().journal.deadLetter((record) => record.headers['mark'] === mark, mark);
  return `${letter.partition}/${letter.offset}`;
}

let untyped = 0;

/** JSON whose publisher forgot to say so: its key gets an INVALID result, or keeps the one that it has. */
function buryWithoutType(
  key: string,
  amount = 100,
  headers: Record<string, string> = { ce_id: `${key}-id` },
): Promise<string> {
  const account = `InternalAccount:${key}-secret-x`;
  const value = `{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"${account}"},"amount":${amount}}`;
  untyped += 1;
  return bury(key, value, `untyped-${untyped}`, headers);
}

describe('dead-letters redrive --reason', () => {
  test('publishes all of a reason with a header set, awaits their results, and leaves out what may be paid already', async () => {
    const keys = ['bulk-1', 'bulk-2', 'bulk-3'];
    for (const key of keys) await buryWithoutType(key);
    await stack().publisher.publish('transfer-in', 'bulk-paid', transferInOf('bulk-paid'));
    await stack().journal.result('bulk-paid');
    await buryWithoutType('bulk-paid');
    const args = ['--reason', 'UNREADABLE', ...JSON_TYPE];
    const suffixed = [...args, '--key-suffix=-again'];

    const dry = await redrive(...suffixed, '--dry-run');
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
    const unconfirmed = await redrive(...suffixed);
    expect(unconfirmed).toMatchObject({ code: 8 });
    expect(unconfirmed.stderr).toContain('--yes');
    for (const key of keys) expect(await known(`${key}-again`)).toBe(3);

    const run = await redrive(...suffixed, '--await', '--yes');
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
    const again = await redrive(...args, '--key-suffix=.2', '--await', '--yes');
    expect(again.documents.filter(({ status }) => status === 'refused').map(({ problem }) => problem)).toContainEqual(
      expect.stringMatching(/the dead letter .* of the key bulk-1 was .*redriven under bulk-1-again/),
    );
    expect(again.stderr).toContain('3 with the reason UNREADABLE that were redriven or acknowledged before');
    expect(again.documents.filter(({ status }) => status === 'published')).toEqual([]);
    for (const key of keys) expect(stack().journal.results(`${key}-again`)).toHaveLength(1);
  });

  test('publishes nothing while an open transaction hides whether the command of a letter’s own key is paid', async () => {
    const { kafka, topics } = stack();
    const end = await openTransaction(kafka, topics.ledger, laneOf('hidden', LANES));
    await stack().publisher.publish('transfer-in', 'hidden', transferInOf('hidden'));
    await stack().journal.result('hidden');
    const [lane, offset] = (await buryWithoutType('hidden')).split('/');
    const args = ['--reason', 'UNREADABLE', '--key-suffix=.h', ...JSON_TYPE, '--yes'];
    const run = await redrive(...args);
    expect(run).toMatchObject({ code: 1, documents: [] });
    expect(run.stderr).toMatch(/behind an open transaction.*nothing was sent/);
    await end();
    const endLetters = await openTransaction(kafka, topics.deadLetters, laneOf('hidden', LANES));
    expect(await redrive(...args)).toMatchObject({ code: 1, documents: [] });
    const list = await letters('list');
    expect(list.stdout).toContain('hidden');
    expect(list.stderr).toMatch(/not read: 1 message of \S+\.dead-letters\.v1/);
    expect(list.code).toBe(1);
    // Between the two lies the marker that ends the letter's own transaction.
    const unseen = await letters('show', `${lane}/${Number(offset) + 2}`);
    expect(unseen.stderr).toMatch(/not read: 1 message of \S+\.dead-letters\.v1/);
    expect(unseen).toMatchObject({ code: 1, stdout: '' });
    await endLetters();
    expect((await redrive(...args, '--dry-run')).documents).toContainEqual(
      expect.objectContaining({ problem: expect.stringMatching(/own key hidden is ACCEPTED/) as string }),
    );
  });

  test('leaves out the second of two letters with one key, and what is beyond the limit', async () => {
    await buryWithoutType('twin', 1);
    await buryWithoutType('twin', 2);
    const args = ['--reason', 'UNREADABLE', '--key-suffix=.b', ...JSON_TYPE, '--dry-run'];
    const run = await redrive(...args);
    const twins = run.documents.filter((document) => JSON.stringify(document).includes('twin'));
    expect(twins.map(({ status }) => status).sort()).toEqual(['refused', 'would-be-published']);
    const first = await redrive(...args, '--limit', '1');
    expect(first.documents).toHaveLength(1);
    expect(first.stderr).toMatch(/\d+ beyond --limit 1/);
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

test('dead-letters list names the reason and the place, and shows no value', async () => {
  await bury(Buffer.from([0, 255]), COMMAND, 'listed');
  const run = await lettersJson('list');
  expect(run.code).toBe(0);
  expect(run.stdout).not.toMatch(/secret-x|letters-x/);
  const source: unknown = expect.objectContaining({ topic: stack().topics.commands['transfer-in'] });
  const listed = (document: object): void =>
    expect(run.documents).toContainEqual(expect.objectContaining({ ...document, source }));
  listed({ key: 'bulk-1', reason: 'UNREADABLE', message: expect.any(String) as string });
  listed({ key: null, keyBase64: 'AP8=', reason: 'INVALID_KEY' });
  const one = await letters('list', '--reason', 'INVALID_KEY');
  expect(one.stdout.trim().split('\n')).toHaveLength(1);
});

describe('dead-letters show', () => {
  test('prints reason, first place, headers, and the bytes as hex and as text', async () => {
    const place = await bury(null, Buffer.from('account 7\u0000é'), 'shown');
    const run = await letters('show', place);
    expect(run).toMatchObject({ code: 0 });
    expect(run.stdout).toMatch(/NO_KEY: [^]*\(no key\)/);
    expect(run.stdout).toContain(`${stack().topics.commands['transfer-in']}, partition 0`);
    expect(run.stdout).toContain('mark: shown');
    expect(run.stdout).toContain('odd: 0xff00fe');
    expect(run.stdout).toMatch(/000000 {2}61 63 63 6f 75 6e 74 20 37 00 c3 a9 +account 7\.\.\./);
    expect(run.stdout).not.toContain('dlq-');
    const json = await lettersJson('show', `${stack().topics.deadLetters}/${place}`);
    expect(json.documents).toMatchObject([
      {
        reason: 'NO_KEY',
        key: null,
        valueText: null,
        valueHex: '6163636f756e74203700c3a9',
        headers: { odd: [{ text: null, hex: 'ff00fe' }], mark: [{ text: 'shown' }] },
      },
    ]);
  });

  test('tells a place without a dead letter from one that is none', async () => {
    expect(await letters('show', '0/999999')).toMatchObject({ code: 3 });
    expect(await letters('show', '99/0')).toMatchObject({ code: 3 });
    expect(await letters('show', 'somewhere')).toMatchObject({ code: 2 });
    expect(await letters('show', 'another.topic/0/0')).toMatchObject({ code: 2 });
  });
});

describe('dead-letters acknowledge', () => {
  test('marks them with who and why: open no more, for the list, for doctor and for the processor', async () => {
    const place = await bury(null, COMMAND, 'handled');
    const other = await bury(null, COMMAND, 'open');
    const open = async (): Promise<number> =>
      (await lettersJson('list', '--open', '--reason', 'NO_KEY')).documents.length;
    const before = await open();
    const run = await letters('acknowledge', place, '--because', 'sent again as x', '--operator', 'ada');
    expect(run).toMatchObject({ code: 0, stdout: `acknowledged ${place}\n` });
    expect(await open()).toBe(before - 1);
    expect((await letters('list')).stdout).toMatch(/acknowledged \(sent again as x\) by ada/);
    const again = await letters('acknowledge', place, other, '--because', 'both', '--operator', 'bob');
    expect(again.stderr).toContain('was acknowledged (sent again as x) by ada');
    expect(again.stdout).toBe(`acknowledged ${other}\n`);
    const isCounted = (text: string): boolean =>
      text.includes(`payments_dead_letters_open{reason="NO_KEY"} ${before - 2}\n`);
    await eventually(() => processor.metrics(), isCounted, 'the processor to count what is open');
    const shown = (await (await fetch(`${processor.httpUrl}/api/state`)).json()) as ProcessorState;
    const { lastAt = '' } = shown.openLetters[0] ?? {};
    expect(Math.abs(Date.now() - Date.parse(lastAt))).toBeLessThan(3_600_000);
    expect(await letters('acknowledge', '0/999999', '--because', 'none')).toMatchObject({ code: 3 });
  });

  test('is not reported when somebody redrives at the same time; nor is anybody sent to the key of an acknowledgement', async () => {
    const place = await bury(null, commandOf('crossed'), 'crossed');
    expect(await letters('redrive', place, '--key', 'crossed-1', '--operator', 'bob', '--yes')).toMatchObject({
      code: 0,
    });
    const read = readConfig(stack().environment);
    if (!read.ok) throw new Error(read.problems.join());
    const letter = await readLetter(read.config, place);
    const [first] = await claimLetters(read.config, 'ada', [{ letter, key: '', because: 'x', knownNotes: [] }]);
    expect(first).toMatchObject({ operator: 'bob', key: 'crossed-1', because: null });
    const late = await letters('acknowledge', place, '--because', 'sent again as z', '--operator', 'cy');
    expect(late).toMatchObject({ code: 7, stdout: '' });
    expect(late.stderr).toMatch(/under crossed-1 by bob .* it may be paid twice; check with .*show crossed-1/);

    const handled = await bury(null, commandOf('handled-otherwise'), 'handled-otherwise');
    await letters('acknowledge', handled, '--because', 'sent again as y', '--operator', 'ada');
    const run = await letters('redrive', handled, '--key', 'crossed-2', '--yes');
    expect(run.code).toBe(7);
    expect(run.stderr).toMatch(
      /acknowledged \(sent again as y\) by ada at [^:]*:[^:]*:[^:]*: ask ada\. Publishing it may pay twice/,
    );
  });
});

describe('dead-letters redrive of one', () => {
  test('publishes a message without a key under one that is given, with its bytes and headers', async () => {
    const place = await bury(null, commandOf('redriven'), 'redriven');
    const without = await letters('redrive', place, '--yes');
    expect(without).toMatchObject({ code: 2 });
    expect(without.stderr).toContain('--key');
    const run = await lettersJson('redrive', place, '--key', 'redriven-1', '--yes');
    expect(run).toMatchObject({ code: 0, documents: [{ key: 'redriven-1' }] });
    const result = await stack().journal.result('redriven-1');
    expect(result).toMatchObject({ value: { outcome: 'ACCEPTED', commandId: 'redriven' } });
    expect(result.value.transaction?.receivedAmount?.amount).toBe(250n);
  });

  test('keeps the key of a message, and says that it will be unreadable again', async () => {
    await stack().publisher.publish('transfer-in', 'first', transferInOf('first'));
    await stack().journal.result('first');
    const place = await bury('first', '{"cut', 'first-again');
    const run = await letters('redrive', place, '--yes');
    expect(run).toMatchObject({ code: 0 });
    expect(run.stderr).toMatch(/it was UNREADABLE[^]*ACCEPTED[^]*CONFLICT/);
    const { journal } = stack();
    const buried = (): TopicRecord[] =>
      journal.deadLetters().filter(({ headers }) => headers['mark'] === 'first-again');
    await journal.until(() => buried().length === 2, 'the second dead letter');
    const [, again] = buried();
    expect(again?.value).toEqual(Buffer.from('{"cut'));
    expect(again?.headers['ce_subject']).toBe('old');
    const shown = await lettersJson('show', `${again?.partition ?? ''}/${again?.offset ?? ''}`);
    expect(shown.documents).toMatchObject([{ headers: { odd: [{ hex: 'ff00fe' }] } }]);
  });

  test('marks a dead letter as redriven, and publishes it again only with a flag that says what may come of it', async () => {
    const place = await bury(null, commandOf('once'), 'once');
    expect(await letters('redrive', place, '--key', 'once-1', '--operator', 'ada', '--yes')).toMatchObject({ code: 0 });
    const shown = await lettersJson('show', place);
    expect(shown.documents).toMatchObject([{ redriven: [{ key: 'once-1', operator: 'ada' }] }]);
    const listed = await lettersJson('list', '--reason', 'NO_KEY');
    const redriven = expect.arrayContaining([expect.objectContaining({ key: 'once-1', operator: 'ada' })]) as unknown[];
    expect(listed.documents).toContainEqual(expect.objectContaining({ redriven }));
    expect(listed.stdout).not.toContain('REDRIVEN');
    const again = await letters('redrive', place, '--key', 'once-2', '--yes');
    expect(again).toMatchObject({ code: 7, stdout: '' });
    expect(again.stderr).toMatch(/redriven under once-1 by ada.*may pay twice.*--again-may-pay-twice/);
    expect(await known('once-2')).toBe(3);
    const forced = await letters('redrive', place, '--key', 'once-3', '--yes', '--again-may-pay-twice');
    expect(forced).toMatchObject({ code: 0 });
    expect((await stack().journal.result('once-3')).value.outcome).toBe('ACCEPTED');
    const notes = stack()
      .journal.deadLetters()
      .filter(({ headers }) => headers['dlq-redriven-key']?.startsWith('once-') === true);
    expect(notes.map(({ headers }) => headers['dlq-redriven-key'])).toEqual(['once-1', 'once-3']);
    expect(await letters('show', `${notes[0]?.partition ?? ''}/${notes[0]?.offset ?? ''}`)).toMatchObject({ code: 3 });
  });

  test('of a command that was set aside before it was read publishes it under a new key, which nothing else can run', async () => {
    const value = stringifyLossless(transferInOf('aside'));
    const place = await bury('aside', value, 'aside', {
      ...{ 'content-type': 'application/json', ce_id: 'aside', 'expires-at': '2026-01-01T00:00:00Z' },
    });
    expect((await stack().journal.result('aside')).value.outcome).toBe('FAILED');
    const inTime = ['--header', 'expires-at=2099-01-01T00:00:00Z'];
    const own = await redrive(place, ...inTime, '--await', '--yes');
    expect(own).toMatchObject({ code: 7, documents: [] });
    expect(own.stderr).toMatch(/the result FAILED, so this message would be a CONFLICT/);
    const many = ['--reason', 'SET_ASIDE', '--key-suffix=-again', ...inTime, '--await', '--yes'];
    expect(await redrive(...many)).toMatchObject({
      code: 0,
      documents: [{ status: 'published', key: 'aside-again', outcome: 'ACCEPTED' }],
    });
  });

  test('by several people at once publishes the message once', async () => {
    const place = await bury(null, commandOf('at-once'), 'at-once');
    const keys = ['at-once-1', 'at-once-2', 'at-once-3'];
    const runs = await Promise.all(keys.map((key) => letters('redrive', place, '--key', key, '--yes')));
    expect(runs.map(({ code }) => code).sort()).toEqual([0, 7, 7]);
    const winner = keys[runs.findIndex(({ code }) => code === 0)] ?? '';
    expect((await stack().journal.result(winner)).value.outcome).toBe('ACCEPTED');
    for (const key of keys.filter((other) => other !== winner)) expect(await known(key)).toBe(3);
  });

  test('of a message that was buried by reference reads the original, or says where it was', async () => {
    const topic = stack().topics.commands['transfer-in'];
    const command = commandOf('original');
    const place = await bury(null, command, 'original');
    const [buried] = stack()
      .journal.deadLetters()
      .filter(({ headers }) => headers['mark'] === 'original');
    const source = { partition: buried?.headers['dlq-partition'] ?? '', offset: buried?.headers['dlq-offset'] ?? '' };
    const reference = (offset: string, sha256: string) => ({
      key: null,
      value: command.slice(0, 10),
      partition: 0,
      headers: {
        'dlq-reason': 'TOO_LARGE',
        'dlq-message': 'it is too large',
        'dlq-topic': topic,
        'dlq-partition': source.partition,
        'dlq-offset': offset,
        'dlq-by-reference': 'true',
        'dlq-value-bytes': String(command.length),
        'dlq-value-sha256': sha256,
      },
    });
    const sha256 = createHash('sha256').update(command).digest('hex');
    const base = await sendTo(stack().kafka, stack().topics.deadLetters, [
      ...[reference(source.offset, sha256), reference('999999', sha256), reference(source.offset, 'other')],
    ]);
    expect(place).toMatch(/^0\//);
    const gone = await letters('redrive', `0/${base + 1n}`, '--key', 'by-reference-1', '--yes');
    expect(gone).toMatchObject({ code: 7, stdout: '' });
    expect(gone.stderr).toMatch(
      /The whole message, at .*transfer-in.*partition 0, offset 999999, cannot be used: it was deleted/,
    );
    const other = await letters('redrive', `0/${base + 2n}`, '--key', 'by-reference-2', '--yes');
    expect(other).toMatchObject({ code: 7, stdout: '' });
    expect(other.stderr).toMatch(/another length or SHA-256/);
    const whole = await letters('redrive', `0/${base}`, '--key', 'by-reference-3', '--yes');
    expect(whole).toMatchObject({ code: 0 });
    const result = await stack().journal.result('by-reference-3');
    expect(result.value).toMatchObject({ outcome: 'ACCEPTED', commandId: 'original' });
    // The copy that was buried whole is known as the same message: who repeats one without a result sends it as it is.
    const copy = await letters('redrive', place, '--key', 'by-reference-4', '--yes');
    expect(copy).toMatchObject({ code: 7, stdout: '' });
    expect(copy.stderr).toMatch(/redriven under by-reference-3 by .* requires --again-may-pay-twice/);
  });

  test('tells with --await how it ended, by the exit code as well; --dry-run marks nothing', async () => {
    const place = await buryWithoutType('one');
    expect(await redrive(place, '--key', 'one-again', '--dry-run')).toMatchObject({
      code: 0,
      documents: [{ status: 'would-be-published', key: 'one-again' }],
    });
    const own = await redrive(place, '--yes');
    expect(own).toMatchObject({ code: 7, stdout: '' });
    expect(own.stderr).toMatch(/INVALID.*CONFLICT.*--key/);
    expect(await redrive(place, '--key', 'one', '--yes')).toMatchObject({ code: 7 });
    const unfixed = await redrive(place, '--key', 'one-again', '--await', '--yes');
    expect(unfixed).toMatchObject({ code: 4, documents: [{ status: 'published', outcome: 'INVALID' }] });
    const late = ['--header', 'expires-at=2020-01-01T00:00:00Z'];
    const other = await buryWithoutType('two');
    const expired = await redrive(other, '--key', 'two-again', ...JSON_TYPE, ...late, '--await', '--yes');
    expect(expired).toMatchObject({ code: 4, documents: [{ outcome: 'EXPIRED' }] });
    expect(expired.stderr).toMatch(/its expires-at, 2020-01-01T00:00:00Z, has passed/);
  });

  test('says when no result came in time, with exit code 5', async () => {
    const place = await buryWithoutType('unheard');
    // In order: an open transaction of a killed one would hide later records.
    await processor.stop();
    const briefly = ['--await', '--await-for', '500ms'];
    const run = await redrive(place, '--key', 'unheard-again', ...JSON_TYPE, ...briefly, '--yes');
    expect(run).toMatchObject({ code: 5, documents: [{ status: 'published' }] });
    processor = await stack().startProcessor();
    expect((await stack().journal.result('unheard-again')).value.outcome).toBe('ACCEPTED');
  });

  test('a letter whose id is too long for any result to name is refused, until it is given another', async () => {
    const place = await buryWithoutType('long-id', 100, { ce_id: 'x'.repeat(1_025) });
    const args = [place, '--key', 'long-id-1', ...JSON_TYPE, '--await', '--yes'];
    const refused = await redrive(...args);
    expect(refused).toMatchObject({ code: 7 });
    expect(refused.stderr).toMatch(/its ce_id has more than 1024 characters.*--header ce_id=ID; nothing was sent/);
    expect(await redrive(...args, '--header', 'ce_id=short')).toMatchObject({ code: 0 });
  });
});
