/** The report of a run that breaks off: the outcome of each letter, whatever happened to the others. Pure. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { PaymentClientError } from 'payment-processor-client/internal/client-error';
import { LiveEvents } from 'payment-processor-client/internal/live-events';
import { PublishError, type KeyedRecord } from 'payment-processor-client/internal/kafka/record-publisher';
import { fingerprintOf } from 'payment-processor-client/internal/publisher';
import { ResultAwaiter } from 'payment-processor-client/internal/result-awaiter';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { transferInOf } from '../../../test/support/commands.ts';
import { tallyOf } from '../src/redrive-report.ts';
import { redriveEach, type RedriveParts } from '../src/redrive-run.ts';

function planOf(index: number) {
  const place = { topic: 'letters', partition: 0, offset: BigInt(index), timestampMs: 0 };
  const letter = { ...place, key: Buffer.from(`key-${index}`), value: Buffer.from('{}'), headers: {} };
  const target = { topic: 'commands', key: `key-${index}`, commandType: 'transfer-in' as const };
  return { kind: 'ready' as const, letter, target, notes: [] };
}

const all = Array.from({ length: 41 }, (_, index) => planOf(index));

function parts(given: Partial<RedriveParts> = {}): RedriveParts & { readonly sent: string[] } {
  const sent: string[] = [];
  const publish = async ({ key }: KeyedRecord) => {
    await turn();
    return { partition: 0, offset: BigInt(sent.push(String(key))) };
  };
  const claim = async (plans: readonly unknown[]): Promise<null[]> => plans.map(() => null);
  return {
    ...{ claim, publisher: { publish }, results: null, registry: null, timeoutMs: 1, isUnmasked: false, sent },
    interruption: new AbortController().signal,
    ...given,
  };
}

test('marks that cannot be written take back nothing that was published before', async () => {
  const claims = [
    async () => Array.from({ length: 20 }, () => null),
    async () => Promise.reject(new Error('no broker')),
  ];
  const run = parts({ claim: async () => (claims.shift() ?? (async () => []))() });
  const outcomes = await Promise.all(await redriveEach(all, run));
  expect(run.sent).toHaveLength(20);
  expect(outcomes.map(({ document }) => document.status)).toEqual([
    ...Array.from({ length: 20 }, () => 'published'),
    ...Array.from({ length: 20 }, () => 'not-known'),
    'not-tried',
  ]);
  expect(outcomes[20]).toMatchObject({
    problem: expect.stringMatching(/not published, but .* may be marked as redriven \(no broker\)/) as string,
  });
});

test('a run that is interrupted publishes what is marked, and marks no more', async () => {
  const interruption = new AbortController();
  const claim = async (plans: readonly unknown[]): Promise<null[]> => {
    interruption.abort();
    return plans.map(() => null);
  };
  const run = parts({ claim, interruption: interruption.signal });
  const outcomes = await Promise.all(await redriveEach(all, run));
  expect(run.sent).toHaveLength(20);
  expect(outcomes[20]).toMatchObject({
    document: { status: 'not-tried' },
    problem: expect.stringContaining('interrupted') as string,
  });
});

test.each([
  ['NOT_CONFIRMED', 'noResult', '0 published, 1 perhaps published, 0 not published', 'it is not known whether'],
  ['NOT_WRITTEN', 'failed', '0 published, 1 not published', 'but its message was not published'],
] as const)('a publication that is %s ends with the exit code of %s: %s', async (problem, reason, tally, words) => {
  const publisher = { publish: async () => Promise.reject(new PublishError(problem, 'x', new Error('cut off'))) };
  const line = await (await redriveEach(all.slice(0, 1), parts({ publisher })))[0];
  expect(line).toMatchObject({
    reason,
    problem: expect.stringMatching(`marked as redriven, .*${words}.*\\(cut off\\)`) as string,
  });
  expect(tallyOf(line === undefined ? [] : [line])).toBe(tally);
});

test('a letter is not published if another of its key was redriven meanwhile, and the problem says that it is marked', async () => {
  const place = { partition: 0, letterOffset: 90n, offset: 91n, letterKey: 'key-0', letterContent: null };
  const note = { ...place, key: 'key-0b', because: null };
  const theirs = { ...note, operator: 'dana', timestamp: '2026-01-01T00:00:00.000Z', id: 'theirs' };
  const run = parts({ claim: async () => [theirs] });
  const line = await (await redriveEach(all.slice(0, 1), run))[0];
  expect(run.sent).toEqual([]);
  expect(line).toMatchObject({
    reason: 'refused',
    problem: expect.stringMatching(
      /^the dead letter 0\/90 of the key key-0 was marked as redriven under key-0b by dana .*same payment.* Nothing was sent, but this dead letter is marked/,
    ) as string,
  });
});

test('a registry that does not answer fails the run before a letter is marked', async () => {
  const framed = all.map((plan) => ({ ...plan, letter: { ...plan.letter, value: Buffer.of(0, 0, 0, 0, 1, 0) } }));
  const marked: unknown[] = [];
  const run = parts({
    registry: { decode: async () => Promise.reject(new Error('no registry')) } as never,
    claim: async (plans) => {
      marked.push(...plans);
      return plans.map(() => null);
    },
  });
  await expect(redriveEach(framed, run)).rejects.toThrow('no registry');
  expect([marked, run.sent]).toEqual([[], []]);
});

test.each([
  ['came without an id', {}],
  ['has the id of another', { ce_id: [Buffer.from('one-id')] }],
])(
  'a message that %s is not answered by the result of other fields: it is awaited by id and fields',
  async (_, ids) => {
    const [plan, fields] = [planOf(0), transferInOf('key-0')];
    const headers = { 'content-type': [Buffer.from('application/json')], ...ids };
    const letter = { ...plan.letter, value: Buffer.from(stringifyLossless(fields)), headers };
    const wait = vi.fn<ResultAwaiter['expect']>().mockRejectedValue(new Error('none came'));
    const publish = vi.fn<RedriveParts['publisher']['publish']>().mockResolvedValue({ partition: 0, offset: 0n });
    const run = parts({ publisher: { publish }, results: { expect: wait }, registry: {} as never });
    await Promise.all(await redriveEach([{ ...plan, letter }], run));
    const commandId = String(publish.mock.calls[0]?.[0].headers['ce_id']);
    expect(commandId).toMatch('ce_id' in ids ? /^one-id$/ : /^[0-9a-f-]{36}$/);
    const fingerprint = fingerprintOf('transfer-in', 'key-0', fields);
    expect(wait.mock.calls).toEqual([['key-0', { commandId, fingerprint, type: 'transfer-in', timeoutMs: 1 }]]);
  },
);

test('the end of the subscription takes the others neither their message nor their line', async () => {
  const live = new LiveEvents();
  const run = parts({ results: new ResultAwaiter(live), timeoutMs: 60_000 });
  const running = redriveEach(all, run);
  while (run.sent.length < 5) await turn();
  await live.close();
  const outcomes = await Promise.all(await running);
  expect(run.sent).toHaveLength(all.length);
  expect(new Set(outcomes.map(({ document, reason }) => `${document.status} ${reason}`))).toEqual(
    new Set(['published noResult']),
  );
  await expect(new ResultAwaiter(live).expect('later', { timeoutMs: 1 })).rejects.toBeInstanceOf(PaymentClientError);
});
