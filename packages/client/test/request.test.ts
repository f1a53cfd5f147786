/** Requests to a real processor, beside other publishers and after lost answers; see requests-and-twin.test.ts, too. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PaymentClient, parseLossless, stringifyLossless, type Answer } from '../src/index.ts';
import { COPIES_MAX } from '../../../src/ledger/entry.ts';
import { accountOf, transferInOf } from '../../../test/support/commands.ts';
import type { RawMessage } from '../../../test/support/stack.ts';
import { useStack } from '../../../test/support/test-stack.ts';

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

async function callsOf(operation: 'transfer-in', key: string): Promise<number> {
  return (await stack().service.effects()).operations[operation][key]?.calls ?? 0;
}

describe('a request', () => {
  test('made again by another client is answered by the same event, and nothing is called twice', async () => {
    const first = resultOf(await client.request('transfer-in', 'again', transferInOf('again'), WAIT));
    expect(first).toMatchObject({ outcome: 'ACCEPTED', isReplayed: false });
    const other = await PaymentClient.connect(stack().settings);
    const again = await other.request('transfer-in', 'again', transferInOf('again'), WAIT);
    await other.close();
    expect(resultOf(again)).toEqual({ ...first, isReplayed: true });
    expect(await callsOf('transfer-in', 'again')).toBe(1);
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
