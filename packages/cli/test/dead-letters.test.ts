import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from 'payment-processor-contract/config';
import { isRawNumber, stringifyLossless } from 'payment-processor-contract/lossless-json';
import { transferInOf } from '../../../test/support/commands.ts';
import type { RunningProcessor } from '../../../test/support/processor.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { eventually } from '../../../test/support/watch.ts';
import { readLetter } from '../src/read-letter.ts';
import { claimLetters } from '../src/redrive-notes.ts';
import { runCli, type CliRun } from './run-cli.ts';

const stack = useStack({ name: 'letters' });
const ODD_BYTES = Buffer.from([0xff, 0x00, 0xfe]);
const COMMAND =
  '{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"InternalAccount:letters-x"},"amount":250}';

let processor: RunningProcessor;

beforeAll(async () => {
  processor = await stack().startProcessor();
});

const letters = (...args: string[]): Promise<CliRun> => runCli({ ...stack().environment }, 'dead-letters', ...args);
const lettersJson = (...args: string[]): Promise<CliRun> =>
  runCli({ ...stack().environment }, '--output', 'json', 'dead-letters', ...args);

/** @returns where the dead letter of a message lies that has this mark */
async function bury(key: string | null, value: string | Buffer, mark: string): Promise<string> {
  const headers = { 'content-type': 'application/json', mark, odd: ODD_BYTES, ce_subject: 'old', ce_id: mark };
  await stack().publishRaw('transfer-in', { key, value, headers, partition: 0 });
  const letter = await stack().journal.deadLetter((record) => record.headers['mark'] === mark, mark);
  return `${letter.partition}/${letter.offset}`;
}

describe('dead-letters show', () => {
  test('prints reason, first place, headers, and the bytes as hex and as text', async () => {
    const place = await bury(null, Buffer.from('account 7\u0000é'), 'shown');
    const run = await letters('show', place);
    expect(run).toMatchObject({ code: 0 });
    expect(run.stdout).toMatch(/NO_KEY: /);
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
    const open = async (): Promise<string[]> =>
      (await lettersJson('list', '--open')).documents.map(({ offset, partition }) =>
        stringifyLossless([partition, offset]),
      );
    const before = await open();
    const run = await letters('acknowledge', place, '--because', 'sent again as x', '--operator', 'ada');
    expect(run).toMatchObject({ code: 0, stdout: `acknowledged ${place}\n` });
    expect(await open()).toHaveLength(before.length - 1);
    expect((await letters('list')).stdout).toMatch(/acknowledged \(sent again as x\) by ada/);
    const again = await letters('acknowledge', place, other, '--because', 'both', '--operator', 'bob');
    expect(again.stderr).toContain('was acknowledged (sent again as x) by ada');
    expect(again.stdout).toBe(`acknowledged ${other}\n`);
    const isCounted = (text: string): boolean =>
      text.includes(`payments_dead_letters_open{reason="NO_KEY"} ${before.length - 2}\n`);
    await eventually(() => processor.metrics(), isCounted, 'the processor to count what is open');
    expect(await letters('acknowledge', '0/999999', '--because', 'none')).toMatchObject({ code: 3 });
  });

  test('of what somebody redrives at the same time is not told; nor is anybody sent to the key of an acknowledgement', async () => {
    const place = await bury(null, COMMAND, 'crossed');
    expect(await letters('redrive', place, '--key', 'crossed-1', '--operator', 'bob', '--yes')).toMatchObject({
      code: 0,
    });
    const read = readConfig(stack().environment);
    if (!read.ok) throw new Error(read.problems.join());
    const letter = await readLetter(read.config, place);
    const [first] = await claimLetters(read.config, 'ada', [
      { letter, key: '', because: 'x', isPayment: false, knownNotes: [] },
    ]);
    expect(first).toMatchObject({ operator: 'bob', key: 'crossed-1', because: null });

    const handled = await bury(null, COMMAND, 'handled-otherwise');
    await letters('acknowledge', handled, '--because', 'sent again as y', '--operator', 'ada');
    const run = await letters('redrive', handled, '--key', 'crossed-2', '--yes');
    expect(run.code).toBe(7);
    expect(run.stderr).toMatch(
      /acknowledged \(sent again as y\) by ada at [^:]*:[^:]*:[^:]*: ask ada\. Published again/,
    );
  });
});

describe('dead-letters redrive', () => {
  test('publishes a message without a key under one that is given, with its bytes and headers', async () => {
    const place = await bury(null, COMMAND, 'redriven');
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
    await stack().journal.until(
      () =>
        stack()
          .journal.deadLetters()
          .filter((record) => record.headers['mark'] === 'first-again').length === 2,
      'the second dead letter',
    );
    const again = stack()
      .journal.deadLetters()
      .filter((record) => record.headers['mark'] === 'first-again')[1];
    expect(again?.value).toEqual(Buffer.from('{"cut'));
    expect(again?.headers['ce_subject']).toBe('old');
    const shown = await lettersJson('show', `${again?.partition ?? ''}/${again?.offset ?? ''}`);
    expect(shown.documents).toMatchObject([{ headers: { odd: [{ hex: 'ff00fe' }] } }]);
  });

  test('refuses what would be a CONFLICT with its own INVALID result, and points at a new key', async () => {
    const place = await bury('answered', '{"cut', 'answered');
    await stack().journal.result('answered');
    const run = await letters('redrive', place, '--yes');
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toMatch(/INVALID.*CONFLICT.*--key/);
    const known = await letters('redrive', place, '--key', 'answered', '--yes');
    expect(known).toMatchObject({ code: 7 });
  });

  test('sends nothing where nobody can be asked and --yes is not given', async () => {
    const place = await bury(null, COMMAND, 'unconfirmed');
    const run = await letters('redrive', place, '--key', 'unconfirmed-1');
    expect(run).toMatchObject({ code: 8, stdout: '' });
    expect(run.stderr).toMatch(/unconfirmed-1[^]*--yes/);
    expect(await runCli({ ...stack().environment }, 'ledger', 'show', 'unconfirmed-1')).toMatchObject({ code: 3 });
  });

  test('marks a dead letter as redriven, and publishes it again only with a flag that says what may come of it', async () => {
    const place = await bury(null, COMMAND, 'once');
    expect(await letters('redrive', place, '--key', 'once-1', '--operator', 'ada', '--yes')).toMatchObject({ code: 0 });
    const shown = await lettersJson('show', place);
    expect(shown.documents).toMatchObject([{ redriven: [{ key: 'once-1', operator: 'ada' }] }]);
    const listed = await lettersJson('list', '--reason', 'NO_KEY');
    const [letter] = listed.documents.filter((one) => `${text(one['partition'])}/${text(one['offset'])}` === place);
    expect(letter).toMatchObject({ redriven: [{ key: 'once-1', operator: 'ada' }] });
    expect(listed.stdout).not.toContain('REDRIVEN');
    const again = await letters('redrive', place, '--key', 'once-2', '--yes');
    expect(again).toMatchObject({ code: 7, stdout: '' });
    expect(again.stderr).toMatch(/redriven as once-1 by ada.*may be paid twice.*--again-may-pay-twice/);
    expect(await runCli({ ...stack().environment }, 'ledger', 'show', 'once-2')).toMatchObject({ code: 3 });
    const forced = await letters('redrive', place, '--key', 'once-3', '--yes', '--again-may-pay-twice');
    expect(forced).toMatchObject({ code: 0 });
    expect((await stack().journal.result('once-3')).value.outcome).toBe('ACCEPTED');
    const notes = stack()
      .journal.deadLetters()
      .filter(({ headers }) => headers['dlq-redriven-offset'] === place.split('/')[1]);
    expect(notes.map(({ headers }) => headers['dlq-redriven-key'])).toEqual(['once-1', 'once-3']);
    expect(await letters('show', `${notes[0]?.partition ?? ''}/${notes[0]?.offset ?? ''}`)).toMatchObject({ code: 3 });
    const doctor = await runCli({ ...stack().environment }, '--output', 'json', 'doctor');
    expect(doctor.stdout).toMatch(/"dead-letters"/);
    expect(doctor.stdout).not.toContain('REDRIVEN');
  });

  test('by several people at once publishes the message once', async () => {
    const place = await bury(null, COMMAND, 'at-once');
    const keys = ['at-once-1', 'at-once-2', 'at-once-3'];
    const runs = await Promise.all(keys.map((key) => letters('redrive', place, '--key', key, '--yes')));
    expect(runs.map(({ code }) => code).sort()).toEqual([0, 7, 7]);
    const winner = keys[runs.findIndex(({ code }) => code === 0)] ?? '';
    expect((await stack().journal.result(winner)).value.outcome).toBe('ACCEPTED');
    for (const key of keys.filter((other) => other !== winner)) {
      expect(await runCli({ ...stack().environment }, 'ledger', 'show', key)).toMatchObject({ code: 3 });
    }
  });

  test('of a message that was buried by reference reads the original, or says where it was', async () => {
    const topic = stack().topics.commands['transfer-in'];
    const place = await bury(null, COMMAND, 'original');
    const [buried] = stack()
      .journal.deadLetters()
      .filter(({ headers }) => headers['mark'] === 'original');
    const source = { partition: buried?.headers['dlq-partition'] ?? '', offset: buried?.headers['dlq-offset'] ?? '' };
    const reference = (offset: string, sha256: string) => ({
      key: null,
      value: COMMAND.slice(0, 10),
      partition: 0,
      headers: {
        'dlq-reason': 'TOO_LARGE',
        'dlq-message': 'it is too large',
        'dlq-topic': topic,
        'dlq-partition': source.partition,
        'dlq-offset': offset,
        'dlq-by-reference': 'true',
        'dlq-value-bytes': String(COMMAND.length),
        'dlq-value-sha256': sha256,
      },
    });
    const sha256 = createHash('sha256').update(COMMAND).digest('hex');
    const producer = stack().kafka.producer();
    await producer.connect();
    const [written] = await producer.send({
      topic: stack().topics.deadLetters,
      messages: [reference(source.offset, sha256), reference('999999', sha256), reference(source.offset, 'other')],
    });
    await producer.disconnect();
    expect(place).toMatch(/^0\//);
    const base = Number(written?.baseOffset);
    const gone = await letters('redrive', `0/${base + 1}`, '--key', 'by-reference-1', '--yes');
    expect(gone).toMatchObject({ code: 7, stdout: '' });
    expect(gone.stderr).toMatch(/original was at .*transfer-in.*partition 0, offset 999999: it is not there any more/);
    const other = await letters('redrive', `0/${base + 2}`, '--key', 'by-reference-2', '--yes');
    expect(other).toMatchObject({ code: 7, stdout: '' });
    expect(other.stderr).toMatch(/another length or SHA-256/);
    const whole = await letters('redrive', `0/${base}`, '--key', 'by-reference-3', '--yes');
    expect(whole).toMatchObject({ code: 0 });
    const result = await stack().journal.result('by-reference-3');
    expect(result.value).toMatchObject({ outcome: 'ACCEPTED', commandId: 'original' });
  });
});

/** A number of a document, as it was written. */
function text(value: unknown): string {
  return isRawNumber(value) ? value.rawJSON : '';
}
