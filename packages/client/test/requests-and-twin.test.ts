/** What requests promise, of a real processor and of the twin in memory that stands in for it in users' tests. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { laneOf } from 'payment-processor-contract/keys';
import { PaymentClient, stringifyLossless, type Answer, type CommandType, type Settlement } from '../src/index.ts';
import { TestPayments } from '../src/testing.ts';
import { COPIES_MAX } from '../../../src/ledger/entry.ts';
import { createQuoteOf, transferInOf } from '../../../test/support/commands.ts';
import { LANES, type RawMessage } from '../../../test/support/stack-options.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli } from '../../cli/test/run-cli.ts';
import { openTransaction } from './fixtures.ts';

const WAIT = { timeoutMs: 30_000 };
const stack = useStack({
  name: 'requests',
  sandbox: { settleMs: 1_000 },
  settings: { API_IDEMPOTENT_OPERATIONS: '', POLL_INTERVAL_MS: '500', POLL_MAX_CALLS_PER_MINUTE: '6000' },
});

interface Side {
  client: PaymentClient;
  /** The service refuses this command. */
  refuse: (type: 'transfer-in' | 'create-quote', key: string) => Promise<void>;
  /** No answer to this command comes in time. */
  keepSilent: (key: string) => Promise<void>;
  /** How often the service was asked for it. */
  calls: (type: 'transfer-in' | 'create-quote' | 'execute-quote', key: string) => Promise<number>;
  close: () => Promise<void>;
}

beforeAll(() => stack().startProcessor());

async function real(): Promise<Side> {
  const client = await PaymentClient.connect(stack().settings);
  const { service } = stack();
  return {
    client,
    refuse: (operation, key) => service.addFaults({ kind: 'status', operation, key, httpStatus: 400 }),
    keepSilent: (key) => service.addFaults({ kind: 'delay', operation: 'transfer-in', key, delayMs: 1_200 }),
    calls: async (type, key) => (await service.effects()).operations[type][key]?.calls ?? 0,
    close: () => client.close(),
  };
}

async function twin(): Promise<Side> {
  const payments = new TestPayments();
  const refused = new Set<string>();
  const silent = new Set<string>();
  for (const type of ['transfer-in', 'create-quote', 'execute-quote'] satisfies CommandType[]) {
    payments.answer(type, ({ key }) => {
      if (silent.delete(key)) return { outcome: 'silent' };
      const error = { code: 'INSUFFICIENT_BALANCE', message: 'too little', details: null };
      if (refused.has(key)) return { outcome: 'REFUSED', error, httpStatus: 400 };
      return { outcome: 'ACCEPTED', statuses: type === 'create-quote' ? [] : ['PROCESSING', 'COMPLETED'] };
    });
  }
  return {
    client: payments.client,
    refuse: async (_type, key) => void refused.add(key),
    keepSilent: async (key) => void silent.add(key),
    calls: async (type, key) => payments.executed.filter((done) => done.type === type && done.key === key).length,
    close: () => payments.client.close(),
  };
}

function resultOf(answer: Answer): { outcome: string; eventId: string | null; isReplayed: boolean } {
  if (answer.kind !== 'result') throw new Error(`answered ${answer.kind}`);
  expect(answer.result.isReplayed).toBe(answer.isReplayed);
  return { outcome: answer.result.value.outcome, eventId: answer.result.id, isReplayed: answer.isReplayed };
}

describe.each([
  ['a real processor', real],
  ['the twin in memory', twin],
])('with %s', (_name, open) => {
  let side: Side;
  let client: PaymentClient;

  beforeAll(async () => {
    side = await open();
    ({ client } = side);
  });
  afterEach(async () => stack().service.clearFaults());
  afterAll(async () => side.close());

  test('a request made again is answered by the same event, and nothing is called twice', async () => {
    const first = resultOf(await client.request('transfer-in', 'again', transferInOf('again'), WAIT));
    expect(first).toMatchObject({ outcome: 'ACCEPTED', isReplayed: false });
    // An amount as a number is the same amount.
    const again = await client.request('transfer-in', 'again', { ...transferInOf('again'), amount: 100 }, WAIT);
    expect(resultOf(again)).toEqual({ ...first, isReplayed: true });
    expect(await side.calls('transfer-in', 'again')).toBe(1);
  });

  test('a request that is refused says so, with the code of the service', async () => {
    await side.refuse('transfer-in', 'refused');
    const answer = await client.request('transfer-in', 'refused', transferInOf('refused'), WAIT);
    const error = { code: expect.any(String) as string };
    expect(answer).toMatchObject({ kind: 'result', result: { value: { outcome: 'REFUSED', httpStatus: 400, error } } });
    expect(await client.awaitSettled('refused', WAIT)).toMatchObject({ kind: 'not-accepted' });
  });

  test('a request with the key of other fields is a conflict, with the result that stands', async () => {
    const standing = resultOf(await client.request('transfer-in', 'taken', transferInOf('taken', 100n), WAIT));
    const answer = await client.request('transfer-in', 'taken', transferInOf('taken', 200n), WAIT);
    expect(answer).toMatchObject({
      kind: 'conflict',
      conflict: { value: { outcome: 'CONFLICT', error: { code: 'KEY_REUSED' } } },
      standing: { kind: 'result', result: { id: standing.eventId, value: { outcome: 'ACCEPTED' } } },
    });
  });

  test('a request that runs out of time says that nothing is known, and made again gets the result', async () => {
    await side.keepSilent('late');
    const fields = transferInOf('late');
    const answer = await client.request('transfer-in', 'late', fields, { timeoutMs: 400 });
    const problem = expect.stringMatching(/the outcome is not known.*ask again/) as string;
    expect(answer).toMatchObject({ kind: 'unanswered', key: 'late', problem });
    expect(resultOf(await client.request('transfer-in', 'late', fields, WAIT)).outcome).toBe('ACCEPTED');
    expect(await side.calls('transfer-in', 'late')).toBe(1);
  });

  test('a request with a number that is no safe integer is refused before anything is sent', async () => {
    for (const amount of [2 ** 53, 12.5]) {
      const refused = client.request('transfer-in', 'inexact', { ...transferInOf('inexact'), amount }, WAIT);
      const message = expect.stringMatching(/amount is the number .*: pass a bigint/) as string;
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_COMMAND', field: 'amount', message });
    }
    expect(await client.readResult('inexact', WAIT)).toEqual({ kind: 'none' });
  });

  test('a quote that is created and executed pays once, however often it is asked for, and settles', async () => {
    const first = await client.createAndExecute('pay', createQuoteOf('pay'), WAIT);
    expect(first).toMatchObject({ stage: 'execute', execute: { result: { value: { outcome: 'ACCEPTED' } } } });
    const again = await client.createAndExecute('pay', createQuoteOf('pay'), WAIT);
    expect(again).toMatchObject({ stage: 'execute', create: { isReplayed: true }, execute: { isReplayed: true } });
    expect([await side.calls('create-quote', 'pay:create'), await side.calls('execute-quote', 'pay:execute')]).toEqual([
      1, 1,
    ]);
    expect(await client.readResult('pay:execute', WAIT)).toMatchObject({ kind: 'result' });
    const transactionId = first.stage === 'execute' ? first.quote.transactionId : null;
    const settled = { kind: 'settled', status: 'COMPLETED', transactionId };
    expect(await client.awaitSettled('pay:execute', WAIT)).toMatchObject(settled);
  });

  test('an answer that is no boolean approves nothing, and there is no payment without a key', async () => {
    const odd = { ...WAIT, approve: (() => ({ approved: false })) as never };
    const refused = client.createAndExecute('odd', createQuoteOf('odd'), odd);
    await expect(refused).rejects.toMatchObject({ code: 'HANDLER_FAILED' });
    const keyless = client.createAndExecute(undefined as never, createQuoteOf('odd'), WAIT);
    await expect(keyless).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  test('a quote that is not approved executes nothing', async () => {
    const answer = await client.createAndExecute('dear', createQuoteOf('dear'), { ...WAIT, approve: () => false });
    expect(answer.stage).toBe('declined');
    expect(await side.calls('execute-quote', 'dear:execute')).toBe(0);
    const failing = client.createAndExecute('dear', createQuoteOf('dear'), {
      ...WAIT,
      approve: () => {
        throw new Error('no limit is known');
      },
    });
    await expect(failing).rejects.toMatchObject({ code: 'HANDLER_FAILED', message: 'approve: no limit is known' });
  });

  test('a quote that is refused is the end, under the keys that were given', async () => {
    await side.refuse('create-quote', 'q-1');
    const keys = { create: 'q-1', execute: 'x-1' };
    const answer = await client.createAndExecute('ignored', createQuoteOf('given'), { ...WAIT, keys });
    const value = { outcome: 'REFUSED', commandKey: 'q-1' };
    expect(answer).toMatchObject({ stage: 'create', create: { result: { value } } });
    expect(await side.calls('execute-quote', 'x-1')).toBe(0);
  });
});

function jsonMessage(key: string, headers: Record<string, string>): RawMessage {
  const value = stringifyLossless(transferInOf(key));
  return { key, value, headers: { 'content-type': 'application/json', ...headers } };
}

describe('beside other publishers, with a real processor,', () => {
  let client: PaymentClient;
  beforeAll(async () => void (client = await PaymentClient.connect(stack().settings)));
  afterEach(async () => stack().service.clearFaults());
  afterAll(async () => client.close());

  test('a request is not answered by the result of other fields, whose publisher names no message and sends a copy just before', async () => {
    const keys = Array.from({ length: 12 }, (_, index) => `unnamed-${index}`);
    const unnamed = keys.map((key) => jsonMessage(key, {}));
    await stack().publishRaw('transfer-in', ...unnamed);
    await Promise.all(keys.map((key) => stack().journal.result(key)));
    const copied = stack().publishRaw('transfer-in', ...unnamed);
    const answers = await Promise.all(
      keys.map((key) => client.request('transfer-in', key, transferInOf(key, 999_999n), WAIT)),
    );
    await copied;
    expect(answers.map(({ kind }) => kind)).toEqual(keys.map(() => 'conflict'));
  });

  test('a request is answered by the result of an earlier message with its fields, where copies are too many to be answered each', async () => {
    await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', key: 'many', delayMs: 1_200 });
    const copies = Array.from({ length: 1 + COPIES_MAX }, (_, index) =>
      jsonMessage('many', { ce_id: `many-${index}` }),
    );
    await stack().publishRaw('transfer-in', ...copies);
    const answer = await client.request('transfer-in', 'many', transferInOf('many'), WAIT);
    expect(answer).toMatchObject({ kind: 'result', result: { headers: { 'in-reply-to': 'many-0' } } });
  });

  test('a payment is followed from its command to COMPLETED, and taken up again by its key alone', async () => {
    const key = 'followed';
    const early = client.awaitSettled(key, WAIT);
    expect(await client.awaitSettled(key, { timeoutMs: 1_000 })).toMatchObject({ kind: 'nothing-known' });
    const answer = await client.request('transfer-in', key, transferInOf(key), WAIT);
    if (answer.kind !== 'result') throw new Error(`answered ${answer.kind}`);
    const transactionId = answer.result.value.transaction?.id;
    const settled = { kind: 'settled', key, status: 'COMPLETED', transactionId };
    expect(await client.awaitSettled(answer.result, WAIT)).toMatchObject(settled);
    expect(await early).toMatchObject(settled);
    expect(await takenUp(key, 30_000)).toMatchObject(settled);
    expect(await shown(key)).toEqual({ kind: 'settled', status: 'COMPLETED', transactionId, earlierOutcome: null });
  });

  test('a payment that was refused, or of which nothing is known, is distinguished from a settled one', async () => {
    const key = 'turned-down';
    await stack().service.addFaults({ kind: 'status', operation: 'transfer-in', key, httpStatus: 400 });
    await client.request('transfer-in', key, transferInOf(key), WAIT);
    expect(await takenUp(key, 30_000)).toMatchObject({ kind: 'not-accepted', result: { outcome: 'REFUSED' } });
    expect(await shown(key)).toMatchObject({ kind: 'not-accepted' });
    // A later revision may lie behind an open transaction.
    const end = await openTransaction(stack().kafka, stack().topics.results, laneOf(key, LANES));
    expect(await takenUp(key, 5_000)).toMatchObject({ kind: 'nothing-known', endedBy: 'timeout' });
    expect(await client.readResult(key, { timeoutMs: 2_000 })).toMatchObject({ kind: 'not-read' });
    await end();
    expect(await takenUp(key, 30_000)).toMatchObject({ kind: 'not-accepted' });
    await stack().service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key: 'lost' });
    await client.request('transfer-in', 'lost', transferInOf('lost'), WAIT);
    expect(await takenUp('lost', 5_000)).toMatchObject({ kind: 'unknown', endedBy: 'timeout' });
    expect(await shown('lost')).toMatchObject({ kind: 'unknown' });
  });
});

/** By a client of its own, which knows the key and nothing else. */
async function takenUp(key: string, timeoutMs: number): Promise<Settlement> {
  const other = await PaymentClient.connect(stack().settings);
  try {
    return await other.awaitSettled(key, { timeoutMs });
  } finally {
    await other.close();
  }
}

async function shown(key: string): Promise<unknown> {
  const { documents } = await runCli({ ...stack().environment }, '--output', 'json', 'show', key);
  return documents[0]?.['payment'];
}
