import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import { topicNames } from 'payment-processor-contract/topics';
import { environmentOf, freshPrefix, prepare, readAll, startAnswering } from '../../client/test/fixtures.ts';
import { runCli, type CliRun } from './run-cli.ts';

const prefix = freshPrefix('publish');
const topic = topicNames(prefix).commands['transfer-in'];
const value =
  '{"source":{"accountId":"ExternalAccount:1"},"destination":{"accountId":"InternalAccount:1"},"amount":9007199254740993}';

describe('publish', () => {
  let environment: Record<string, string>;
  let processor: { close(): Promise<void> };
  let directory: string;

  beforeAll(async () => {
    environment = environmentOf(prefix);
    directory = await mkdtemp(join(tmpdir(), 'cli-publish-'));
    await prepare(prefix);
    processor = await startAnswering(prefix, parseLossless(value));
  });
  afterAll(async () => {
    await processor.close();
    await rm(directory, { recursive: true });
  });

  const published = (...args: string[]): Promise<CliRun> =>
    runCli(environment, '--output', 'json', 'publish', 'transfer-in', ...args);

  test('sends the command and says where it lies', async () => {
    const run = await published('--key', 'silent-1', '--value', value);
    expect(run).toMatchObject({ code: 0 });
    const record = (await readAll(prefix, topic)).find(({ key }) => key?.toString() === 'silent-1');
    expect(run.documents).toMatchObject([{ topic, key: 'silent-1', commandId: record?.headers['ce_id'] }]);
  });

  test('takes the fields from a file, and writes JSON with every digit', async () => {
    const file = join(directory, 'value.json');
    await writeFile(file, value);
    const limits = ['--expires-at', '2030-01-01T00:00:00Z', '--correlation-id', 'case-1'];
    const run = await published('--key', 'silent-2', '--value-file', file, '--format', 'json', ...limits);
    expect(run).toMatchObject({ code: 0 });
    const record = (await readAll(prefix, topic)).find(({ key }) => key?.toString() === 'silent-2');
    expect(record?.value?.toString()).toContain('9007199254740993');
    expect(record?.headers).toMatchObject({
      'content-type': 'application/json',
      'expires-at': '2030-01-01T00:00:00.000Z',
      'correlation-id': 'case-1',
    });
  });

  test.each([
    [
      'wrong fields',
      ['--key', 'bad-1', '--value', '{"source":{"accountId":5},"extra":1}'],
      /source\.accountId[^]*extra/,
    ],
    ['a character in place of bytes', ['--key', 'bad-12', '--value', value.replace(':1', ':\uFFFD')], /UTF-8/],
    ['text that is not JSON', ['--key', 'bad-3', '--value', '{"source":'], /not JSON/],
    ['a key with a blank', ['--key', 'bad 4', '--value', value], /key/],
    ['no value', ['--key', 'bad-5'], /--value/],
    ['no key', ['--value', value], /--key/],
    ['a wrong instant', ['--key', 'bad-6', '--value', value, '--expires-at', 'tomorrow'], /ISO 8601/],
    ['a day that is none', ['--key', 'bad-7', '--value', value, '--expires-at', '2099-02-30T00:00:00Z'], /ISO 8601/],
    ['an instant without a zone', ['--key', 'bad-8', '--value', value, '--expires-at', '2099-06-01T12:00'], /zone/],
    [
      'headers beyond the limit',
      ['--key', 'bad-11', '--value', value, '--correlation-id', 'c'.repeat(65_536)],
      /correlationId is too long.*; nothing was sent/,
    ],
    ['a member twice', ['--key', 'bad-9', '--value', value.replace('{', '{"amount":1,')], /amount appears twice/],
  ])('refuses %s with exit code 2 and sends nothing', async (_what, args, message) => {
    const run = await published(...args);
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(message);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    expect((await readAll(prefix, topic)).filter(({ key }) => key?.toString().startsWith('bad') === true)).toEqual([]);
  });

  test('refuses a file that is not UTF-8: what would be put in its place is another text', async () => {
    const file = join(directory, 'latin1.json');
    await writeFile(file, value.replace('ExternalAccount:1', 'ExternalAccount:M\u00fcller'), 'latin1');
    const run = await published('--key', 'bad-10', '--value-file', file);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(/is not UTF-8; nothing was sent/);
    expect((await readAll(prefix, topic)).some(({ key }) => key?.toString() === 'bad-10')).toBe(false);
  });

  test.each([
    ['accepted-1', 0, 'ACCEPTED'],
    ['refused-1', 4, 'REFUSED'],
    ['conflict-1', 4, 'CONFLICT'],
  ])('with --await prints the result of %s and exits with %i', async (key, code, outcome) => {
    const run = await published('--key', key, '--value', value, '--await');
    expect(run.code).toBe(code);
    expect(run.documents).toMatchObject([{ kind: 'result', key, value: { outcome } }]);
    expect(run.stdout).toContain('"offset":9007199254740993');
  });
});
