/** One server of a registry may lag behind another: that an id is not known is believed when it was asked for again (I5, I6). */
import { afterEach, expect, test, vi } from 'vitest';
import avsc from 'avsc';
import { RecordRegistry, type DecodeResult } from '../src/registry.ts';
import { loadSchema } from '../src/schemas.ts';
import { recordOfTopic, subjectOf, topicNames } from '../src/topics.ts';
import { framed } from '../../../test/support/registry-frame.ts';

const topics = topicNames('lagging');
const topic = topics.commands['transfer-in'];
const schema = loadSchema('TransferIn') as avsc.Schema;
const account = { accountId: 'InternalAccount:1' };
const bytes = avsc.Type.forSchema(schema).toBuffer({ source: account, destination: account, amount: null });
const ID = 57;

type Question = 'by id' | 'in subject' | 'latest';
const UNKNOWN = { status: 404, body: { error_code: 40403, message: 'Schema not found' } };
const AWAY = { status: 503, body: { error_code: 50301, message: 'no leader is elected' } };
const KNOWN = { status: 200, body: { id: ID, schema: JSON.stringify(schema) } };
const OLDER = { status: 200, body: { ...KNOWN.body, id: 12 } };

/** Answers each question with the next of its answers; the last one stays. */
class Registry {
  readonly asked: Question[] = [];
  readonly slept: number[] = [];
  nowMs = 0;
  readonly records: RecordRegistry;

  constructor(answers: Readonly<Record<Question, readonly { status: number; body: object }[]>>) {
    vi.stubGlobal('fetch', async (url: string) => {
      const question: Question = url.includes('/schemas/ids/')
        ? 'by id'
        : url.endsWith('/versions/latest')
          ? 'latest'
          : 'in subject';
      const earlier = this.asked.filter((other) => other === question).length;
      this.asked.push(question);
      const { body, status } = answers[question][earlier] ?? answers[question].at(-1) ?? AWAY;
      return new Response(JSON.stringify(body), { status });
    });
    const sleep = async (ms: number): Promise<void> => {
      this.slept.push(ms);
      this.nowMs += ms;
    };
    const time = { monotonicMs: () => this.nowMs, sleep };
    this.records = new RecordRegistry({
      ...{ url: 'http://registry', username: null, password: null, records: recordOfTopic(topics), time },
    });
  }

  async decode(id = ID): Promise<DecodeResult> {
    return this.records.decode(topic, framed(id, bytes));
  }
}

afterEach(() => void vi.unstubAllGlobals());

test.each([
  ['the id', { 'by id': [UNKNOWN, KNOWN], 'in subject': [KNOWN], latest: [OLDER] }],
  ['the subject’s version', { 'by id': [KNOWN], 'in subject': [UNKNOWN, KNOWN], latest: [OLDER] }],
])('a server that does not know %s yet is asked again after a second', async (_name, answers) => {
  const registry = new Registry(answers);
  expect(await registry.decode()).toMatchObject({ kind: 'record' });
  expect(registry.slept).toEqual([1_000]);
});

test('an id that the subject’s latest version has is known, whatever is said of the id itself', async () => {
  const registry = new Registry({ 'by id': [UNKNOWN], 'in subject': [UNKNOWN], latest: [KNOWN] });
  expect(await registry.decode()).toMatchObject({ kind: 'record' });
  expect(registry.slept).toEqual([]);
});

test('a negative id is not asked for, whatever a gateway makes of it', async () => {
  const registry = new Registry({ 'by id': [AWAY], 'in subject': [AWAY], latest: [AWAY] });
  expect(await registry.decode(-1)).toMatchObject({
    kind: 'unreadable',
    problem: expect.stringContaining('negative') as string,
  });
  expect(registry.asked).toEqual([]);
});

test('what is away when it is asked again has said nothing: the message waits', async () => {
  const registry = new Registry({ 'by id': [UNKNOWN, AWAY, UNKNOWN], 'in subject': [KNOWN], latest: [OLDER] });
  expect(await registry.decode()).toMatchObject({ kind: 'unavailable', failure: { kind: 'server-error' } });
  // Nothing was found out: it is asked twice again.
  expect(await registry.decode()).toMatchObject({ kind: 'unknown-schema' });
  expect(registry.slept).toEqual([1_000, 1_000]);
});

test('an id that is unknown for a second is believed to be, and messages behind the first do not wait as long', async () => {
  const registry = new Registry({ 'by id': [UNKNOWN], 'in subject': [KNOWN], latest: [OLDER] });
  const problem = expect.stringContaining(
    `does not know schema id ${ID}: register the schema under ${subjectOf(topic)}`,
  ) as string;
  for (let message = 0; message < 20; message += 1)
    expect(await registry.decode()).toEqual({ kind: 'unknown-schema', problem });
  expect(registry.slept).toEqual([1_000]);
  // Half a minute later it may have been given to a schema that was just registered.
  registry.nowMs += 30_000;
  await registry.decode();
  expect(registry.slept).toEqual([1_000, 1_000]);
});

test('a flood of ids that nobody registered holds the commands behind it for seconds, not for one each', async () => {
  const registry = new Registry({ 'by id': [UNKNOWN], 'in subject': [KNOWN], latest: [OLDER] });
  for (let id = 100; id < 300; id += 1) expect(await registry.decode(id)).toMatchObject({ kind: 'unknown-schema' });
  expect(registry.slept).toHaveLength(10);
});
