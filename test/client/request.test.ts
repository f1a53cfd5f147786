/** Requests to a real processor: what each answer says, and that asking again does nothing twice. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PaymentClient, parseLossless, stringifyLossless, type Answer } from '../../src/client/index.ts';
import { COPIES_MAX } from '../../src/ledger/entry.ts';
import { accountOf, createQuoteOf, transferInOf } from '../support/commands.ts';
import type { RawMessage } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';

const stack = useStack({ name: 'request', settings: { API_IDEMPOTENT_OPERATIONS: '' } });
const WAIT = { timeoutMs: 30_000 };
let client: PaymentClient;

beforeAll(async () => {
  await stack().startProcessor();
  client = await PaymentClient.connect(stack().settings);
});
afterEach(async () => stack().service.clearFaults());
afterAll(async () => client.close());

function resultOf(answer: Answer): { outcome: string; eventId: string | null; isReplayed: boolean } {
  if (answer.kind !== 'result') throw new Error(`answered ${answer.kind}`);
  return { outcome: answer.result.value.outcome, eventId: answer.result.id, isReplayed: answer.isReplayed };
}

function jsonMessage(key: string, headers: Record<string, string>): RawMessage {
  const value = stringifyLossless(transferInOf(key));
  return { key, value, headers: { 'content-type': 'application/json', ...headers } };
}

async function callsOf(operation: 'transfer-in' | 'execute-quote' | 'create-quote', key: string): Promise<number> {
  return (await stack().service.effects()).operations[operation][key]?.calls ?? 0;
}

describe('a request', () => {
  test('made again is answered by the same event, also by another client, and nothing is called twice', async () => {
    const first = resultOf(await client.request('transfer-in', 'again', transferInOf('again'), WAIT));
    expect(first).toMatchObject({ outcome: 'ACCEPTED', isReplayed: false });
    const other = await PaymentClient.connect(stack().settings);
    // An amount as a number is the same amount.
    const again = await other.request('transfer-in', 'again', { ...transferInOf('again'), amount: 100 }, WAIT);
    await other.close();
    expect(resultOf(again)).toEqual({ ...first, isReplayed: true });
    expect(await callsOf('transfer-in', 'again')).toBe(1);
  });

  test('that is refused says so, with the code of the service', async () => {
    await stack().service.addFaults({
      kind: 'status',
      operation: 'transfer-in',
      key: 'refused',
      httpStatus: 400,
    });
    const answer = await client.request('transfer-in', 'refused', transferInOf('refused'), WAIT);
    expect(answer).toMatchObject({
      kind: 'result',
      result: { value: { outcome: 'REFUSED', httpStatus: 400, error: { code: expect.any(String) as string } } },
    });
  });

  test('with the key of other fields is a conflict, with the result that stands', async () => {
    const standing = resultOf(await client.request('transfer-in', 'taken', transferInOf('taken', 100n), WAIT));
    const answer = await client.request('transfer-in', 'taken', transferInOf('taken', 200n), WAIT);
    expect(answer).toMatchObject({
      kind: 'conflict',
      conflict: { value: { outcome: 'CONFLICT', error: { code: 'KEY_REUSED' } } },
      standing: { kind: 'result', result: { id: standing.eventId, value: { outcome: 'ACCEPTED' } } },
    });
  });

  test('is not answered by the result of other fields, whose publisher names no message and sends a copy just before', async () => {
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

  test('is answered by the result of an earlier message with its fields, where copies are too many to be answered each', async () => {
    await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', key: 'many', delayMs: 1_200 });
    const copies = Array.from({ length: 1 + COPIES_MAX }, (_, index) =>
      jsonMessage('many', { ce_id: `many-${index}` }),
    );
    await stack().publishRaw('transfer-in', ...copies);
    const answer = await client.request('transfer-in', 'many', transferInOf('many'), WAIT);
    expect(answer).toMatchObject({ kind: 'result', result: { headers: { 'in-reply-to': 'many-0' } } });
  });

  test('whose answer is lost for good is UNKNOWN, a result like others', async () => {
    await stack().service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key: 'lost' });
    const answer = await client.request('transfer-in', 'lost', transferInOf('lost'), WAIT);
    expect(answer).toMatchObject({
      kind: 'result',
      result: { value: { outcome: 'UNKNOWN', error: { code: 'UNDECIDABLE' } } },
    });
  });

  test('that runs out of time says that nothing is known, and made again gets the result', async () => {
    await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', key: 'late', delayMs: 1_200 });
    const fields = transferInOf('late');
    const answer = await client.request('transfer-in', 'late', fields, { timeoutMs: 400 });
    expect(answer).toMatchObject({ kind: 'unanswered', key: 'late', problem: /nothing is known.*ask again/ });
    expect(resultOf(await client.request('transfer-in', 'late', fields, WAIT)).outcome).toBe('ACCEPTED');
    expect(await callsOf('transfer-in', 'late')).toBe(1);
  });

  test('with a number that is no safe integer is refused before anything is sent', async () => {
    const inexact = { ...transferInOf('inexact'), amount: 2 ** 53 };
    await expect(client.request('transfer-in', 'inexact', inexact, WAIT)).rejects.toThrow(
      /amount is the number 9007199254740992, which is no whole number or not exact: give a bigint/,
    );
    const fraction = { ...transferInOf('inexact'), amount: 12.5 };
    await expect(client.request('transfer-in', 'inexact', fraction, WAIT)).rejects.toThrow(
      /amount is the number 12\.5/,
    );
    expect(await client.readResult('inexact', WAIT)).toEqual({ kind: 'none' });
  });
});

describe('creating a quote and executing it', () => {
  test('pays once, however often it is asked for', async () => {
    const first = await client.createAndExecute('pay', createQuoteOf('pay'), WAIT);
    expect(first).toMatchObject({ stage: 'execute', execute: { result: { value: { outcome: 'ACCEPTED' } } } });
    const again = await client.createAndExecute('pay', createQuoteOf('pay'), WAIT);
    expect(again).toMatchObject({ stage: 'execute', create: { isReplayed: true }, execute: { isReplayed: true } });
    expect([await callsOf('create-quote', 'pay:create'), await callsOf('execute-quote', 'pay:execute')]).toEqual([
      1, 1,
    ]);
    expect(await client.readResult('pay:execute', WAIT)).toMatchObject({ kind: 'result' });
  });

  test('executes nothing where the quote is not approved', async () => {
    const amounts: unknown[] = [];
    const answer = await client.createAndExecute('dear', createQuoteOf('dear'), {
      ...WAIT,
      approve: (quote) => {
        amounts.push(quote.totalSendingAmount);
        return false;
      },
    });
    expect(answer.stage).toBe('declined');
    expect(amounts).toEqual([1000n]);
    expect(await callsOf('execute-quote', 'dear:execute')).toBe(0);
  });

  test('ends at the quote where that is refused, and takes the keys that it is given', async () => {
    await stack().service.addFaults({
      kind: 'status',
      operation: 'create-quote',
      key: 'q-1',
      httpStatus: 400,
    });
    const keys = { create: 'q-1', execute: 'x-1' };
    const answer = await client.createAndExecute('ignored', createQuoteOf('given'), { ...WAIT, keys });
    expect(answer).toMatchObject({
      stage: 'create',
      create: { result: { value: { outcome: 'REFUSED', commandKey: 'q-1' } } },
    });
    expect(await callsOf('execute-quote', 'x-1')).toBe(0);
  });
});

test('JSON that was read losslessly can be published as it is', async () => {
  const fields = parseLossless(
    `{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"${accountOf('json')}"},"amount":9007199254740993}`,
  );
  const { key } = await stack().publisher.publishUntyped('transfer-in', 'json', fields, { contentType: 'json' });
  while ((await client.readResult(key, WAIT)).kind === 'none');
  const standing = await client.readResult(key, WAIT);
  expect(standing).toMatchObject({
    result: { value: { transaction: { receivedAmount: { amount: 9_007_199_254_740_993n } } } },
  });
});
