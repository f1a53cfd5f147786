import type { Message } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type RunningSandbox } from 'payment-processor-sandbox/start';
import { laneOf } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import {
  environmentOf,
  freshPrefix,
  kafkaOf,
  LANES,
  resultOf,
  sendTo,
  useResults,
} from '../../client/test/fixtures.ts';
import { startHostileService, type HostileAnswer } from '../../../test/support/hostile-service.ts';
import { runCli, startCli } from './run-cli.ts';

const { prefix, write } = useResults('reading');
const names = topicNames(prefix);
let environment: Record<string, string>;
const send = (topic: string, ...messages: Message[]): Promise<bigint> => sendTo(kafkaOf(prefix), topic, messages);

beforeAll(async () => {
  environment = environmentOf(prefix);
  await write(resultOf('one'));
  await write(resultOf('two', { outcome: 'REFUSED' }));
  await write(resultOf('never'), {}, 'abort');
});

describe('results', () => {
  test('prints the committed results that are there, and ends', async () => {
    const run = await runCli(environment, '--output', 'json', 'results');
    expect(run).toMatchObject({ code: 0 });
    expect(run.documents.map(({ key }) => key).sort()).toEqual(['one', 'two']);
    expect(run.stdout).toContain('"offset":9007199254740993');
  });

  test('of one key alone, as a line for an operator', async () => {
    const run = await runCli(environment, 'results', '--key', 'two');
    expect(run.stdout).toMatch(/REFUSED {3}transfer-in {2}two/);
    expect(run.stdout.trim().split('\n')).toHaveLength(1);
  });

  test('shows no character that a terminal would act on, and no line that a publisher made', async () => {
    const error = {
      code: 'INVALID_COMMAND',
      message: 'no\nACCEPTED  forged\u001b[8m\u202ehid\u200bd\u{e0041}en',
      details: null,
    };
    await write(resultOf('forger', { outcome: 'INVALID', error }));
    const run = await runCli(environment, 'results', '--key', 'forger');
    expect(run.stdout.trim().split('\n')).toHaveLength(1);
    expect(run.stdout).toContain('no\\u000aACCEPTED  forged\\u001b[8m\\u202ehid\\u200bd\\udb40\\udc41en');
  });

  test('with --follow prints what comes, until it is interrupted', async () => {
    const following = startCli(environment, 'results', '--follow');
    await following.seen('following');
    await write(resultOf('three'));
    await following.seen('three');
    following.interrupt();
    const run = await following.ended;
    expect(run.code).toBe(0);
    expect(run.stdout).not.toContain('one');
  });

  test('of a key that nothing is known of exits with 3, as status show does of an id', async () => {
    for (const args of [
      ['results', '--key', 'none'],
      ['status', '--key', 'none'],
      ['status', 'show', 'none'],
    ]) {
      expect(await runCli(environment, ...args), args.join(' ')).toMatchObject({ code: 3, stdout: '' });
    }
  });

  test('of topics that do not exist says what to do', async () => {
    const run = await runCli(environmentOf(freshPrefix('none')), 'results');
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('topics create');
  });
});

test('status and status show have what they cannot read as such, and do not stop at it', async () => {
  await send(names.quoteStatusChanged, { key: 'Quote:1', value: 'not Avro' });
  const run = await runCli(environment, '--output', 'json', 'status');
  expect(run).toMatchObject({ code: 0, documents: [{ kind: 'unreadable', key: 'Quote:1' }] });
  const history = await runCli(environment, 'status', 'show', 'Quote:1');
  expect(history).toMatchObject({ code: 0, stdout: expect.stringContaining('cannot be read') as string });
});

test.each([
  ['results', ['results', '--key', 'one']],
  ['status', ['status', '--key', 'Transaction:known']],
  ['status show', ['status', 'show', 'Transaction:known']],
])('%s, interrupted before it has read all, does not say that nothing is there', async (_what, args) => {
  const without = { ...environment, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };
  await send(names.transactionStatusChanged, { key: 'Transaction:known', value: '\0\0\0\0\u0001...' });
  const reading = startCli(without, ...args);
  await reading.seen('waiting for the schema registry');
  reading.interrupt();
  expect(await reading.ended).toMatchObject({
    code: null,
    stderr: expect.not.stringContaining('is there') as string,
  });
});

test('lag counts what a group has not committed, and commits nothing', async () => {
  const topic = names.commands['execute-quote'];
  await send(topic, ...Array.from({ length: 3 }, () => ({ key: 'a', value: '{}' })));
  const group = `${prefix}-group`;
  const admin = kafkaOf(prefix).admin();
  await admin.connect();
  await admin.setOffsets({ groupId: group, topic, partitions: [{ partition: laneOf('a', LANES), offset: '1' }] });
  const run = await runCli({ ...environment, KAFKA_GROUP_ID: group }, '--output', 'json', 'lag');
  expect(run.code).toBe(0);
  const lanes = run.documents.filter((document) => document.topic === topic);
  expect(JSON.stringify(lanes.map(({ lag }) => lag))).toBe(
    JSON.stringify(Array.from({ length: LANES }, (_, lane) => (lane === laneOf('a', LANES) ? 2 : 0))),
  );
  const waiting = lanes.find(({ lane }) => JSON.stringify(lane) === String(laneOf('a', LANES)));
  expect(waiting?.oldestTimestamp).toMatch(/^\d{4}-.*Z$/);
  expect(Number(JSON.stringify(waiting?.oldestSeconds))).toBeLessThan(60);
  expect(lanes.filter(({ oldestSeconds }) => oldestSeconds === null)).toHaveLength(LANES - 1);
  // As a topic that was made anew leaves them.
  const beyond = `${prefix}-beyond`;
  await admin.setOffsets({ groupId: beyond, topic, partitions: [{ partition: laneOf('a', LANES), offset: '99' }] });
  const anew = await runCli({ ...environment, KAFKA_GROUP_ID: beyond }, '--output', 'json', 'lag');
  expect(JSON.stringify(anew.documents.filter((document) => document.topic === topic))).toContain('"lag":3');
  const committed = await admin.fetchOffsets({ groupId: group, topics: [topic] });
  expect(committed[0]?.partitions.filter(({ offset }) => offset !== '-1')).toMatchObject([{ offset: '1' }]);
  const text = await runCli({ ...environment, KAFKA_GROUP_ID: group }, 'lag');
  expect(text.stdout).toMatch(/lane 0.*oldest[^]*\d+ s/);
  // As retention does, before they are admitted.
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: laneOf('a', LANES), offset: '3' }] });
  await admin.disconnect();
  const deleted = await runCli({ ...environment, KAFKA_GROUP_ID: group }, 'lag');
  expect(deleted.stderr).toContain(
    `${topic}, lane ${laneOf('a', LANES)}: the records at offsets 1 to 2 were deleted before the group's offset passed them`,
  );
});

describe('transactions list', () => {
  let sandbox: RunningSandbox;
  let credentials: Record<string, string>;

  beforeAll(async () => {
    sandbox = await startSandbox({ tokenId: 'id', clientSecret: 'secret' });
    credentials = { API_BASE_URL: sandbox.baseUrl, API_TOKEN_ID: 'id', API_CLIENT_SECRET: 'secret' };
    for (let index = 0; index < 5; index += 1) {
      await fetch(`${sandbox.baseUrl}/transfer-in`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('id:secret')}`, 'content-type': 'application/json' },
        body: `{"source":{"accountId":"ExternalAccount:${index}"},"destination":{"accountId":"InternalAccount:9"},"amount":9007199254740993}`,
      });
    }
  });
  afterAll(async () => sandbox.stop());

  test('prints a page and where to go on, or all of them with --all', async () => {
    const page = await runCli(credentials, '--output', 'json', 'transactions', 'list', '--limit', '2');
    expect(page).toMatchObject({ code: 0, documents: [{ hasMore: true }] });
    expect(page.stderr).toContain('--cursor');
    const all = await runCli(credentials, '--output', 'json', 'transactions', 'list', '--limit', '2', '--all');
    expect(all.documents.map(({ data }) => (data as unknown[]).length)).toEqual([2, 2, 1]);
    expect(all.stdout).toContain('"amount":9007199254740993');
  });

  test('shows amounts in the unit of their currency', async () => {
    const page = await runCli(credentials, 'transactions', 'list', '--limit', '1');
    expect(page.stdout).toContain('90071992547409.93 USD');
  });

  /** Against a service that answers so. */
  async function listAt(answer: HostileAnswer) {
    const service = await startHostileService(answer);
    onTestFinished(() => service.close());
    const environment = { ...credentials, API_BASE_URL: service.baseUrl };
    const asked = (): URLSearchParams => new URL(service.requests.at(-1)?.path ?? '', 'http://service').searchParams;
    return { asked, list: (...args: string[]) => runCli(environment, 'transactions', 'list', ...args) };
  }

  test('sends each filter; ends with --all at a cursor that comes again, and shows what the service says of a refusal', async () => {
    const page = '{"data":[{"id":"Transaction:1","status":"PENDING"}],"hasMore":true,"nextCursor":"again"}';
    const refusal = '{"code":"INVALID_INPUT","message":"status is not one that there is"}';
    const { asked, list } = await listAt(({ path }) =>
      path.includes('NO_SUCH') ? { httpStatus: 400, body: refusal } : { httpStatus: 200, body: page },
    );
    const filters = {
      customerId: 'Customer:1',
      platformCustomerId: 'p',
      senderAccountIdentifier: 'ExternalAccount:3',
      receiverAccountIdentifier: 'InternalAccount:9',
      status: 'REFUNDED',
      type: 'OUTGOING',
      reference: 'r',
      startDate: '2000-01-01T00:00:00Z',
      endDate: '2100-01-01T00:00:00+01:00',
      limit: '7',
      cursor: 'c',
      sortOrder: 'asc',
    };
    const flagOf = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const flags = Object.entries(filters).flatMap(([name, value]) => [flagOf(name), value]);
    expect(await list(...flags)).toMatchObject({ code: 0 });
    expect(Object.fromEntries(asked())).toEqual(filters);
    const endless = await list('--all');
    expect(endless.code).toBe(1);
    expect(endless.stderr).toContain('the service gave the cursor again twice');
    expect(endless.stdout.match(/Transaction:1/g)).toHaveLength(2);
    const refused = await list('--status', 'NO_SUCH');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('HTTP 400, INVALID_INPUT: status is not one that there is');
  });

  test.each([
    ['that may have another page', '{"data":[{"id":"Transaction:1"}]}'],
    ['with a transaction without an id', '{"data":[{"status":"COMPLETED"},{"id":"Transaction:1"}],"hasMore":false}'],
  ])('a list %s does not look complete', async (_what, body) => {
    const { list } = await listAt(() => ({ httpStatus: 200, body }));
    const run = await list('--all');
    expect(run).toMatchObject({ code: 1, stdout: expect.stringContaining('Transaction:1') as string });
    expect(run.stderr).toContain('the list is incomplete: see the warnings');
    expect(run.stderr).not.toContain('no more');
  });

  test('a first page with a gap does not look complete either', async () => {
    const body = '{"data":[{"status":"COMPLETED"},{"id":"Transaction:1"}],"hasMore":true,"nextCursor":"next"}';
    const { list } = await listAt(() => ({ httpStatus: 200, body }));
    const run = await list();
    expect(run).toMatchObject({ code: 1, stdout: expect.stringContaining('Transaction:1') as string });
    expect(run.stderr).toMatch(/list them with --cursor next[^]*the list is incomplete: see the warnings/);
  });

  test('with --all, a list that is cut off does not look complete', async () => {
    let pages = 0;
    const { asked, list } = await listAt(() => {
      pages += 1;
      const data = `[{"id":"Transaction:${pages}","status":"COMPLETED"}]`;
      return { httpStatus: 200, body: `{"data":${data},"hasMore":true,"nextCursor":"after-${pages}"}` };
    });
    const cut = await list('--all');
    expect(cut.code).toBe(1);
    expect(cut.stderr).toMatch(/there are more.*--cursor after-\d+/);
    // The largest page, so that it reaches as far as it can.
    expect(asked().get('limit')).toBe('100');
  });

  test('tells wrong credentials, a wrong version and a service that does not answer apart', async () => {
    const list = (changed: Record<string, string>) => runCli({ ...credentials, ...changed }, 'transactions', 'list');
    const wrongSecret = await list({ API_CLIENT_SECRET: 'wrong-secret-value' });
    expect(wrongSecret.code).toBe(1);
    expect(wrongSecret.stderr).toMatch(/API_CLIENT_SECRET/);
    expect(wrongSecret.stderr).not.toContain('wrong-secret-value');
    const wrongVersion = await list({ API_BASE_URL: sandbox.url });
    expect(wrongVersion.stderr).toMatch(/version segment/);
    const nobody = await list({ API_BASE_URL: 'http://127.0.0.1:1/2025-10-13' });
    expect(nobody).toMatchObject({ code: 1 });
    expect(nobody.stderr).toContain('ECONNREFUSED');
  });
});

test('the command line lists its exit codes, and exits with 2 for a command or an option that it does not know', async () => {
  expect((await runCli({}, '--help')).stdout).toMatch(/Exit codes:[^]*78/);
  expect(await runCli({}, 'no-such-command')).toMatchObject({ code: 2 });
  expect(await runCli({}, 'results', '--no-such-option')).toMatchObject({ code: 2 });
});
