/** Requests to a real processor, beside other publishers and after lost answers; see requests-and-twin.test.ts, too. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PaymentClient, stringifyLossless } from '../src/index.ts';
import { COPIES_MAX } from '../../../src/ledger/entry.ts';
import { transferInOf } from '../../../test/support/commands.ts';
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

function jsonMessage(key: string, headers: Record<string, string>): RawMessage {
  const value = stringifyLossless(transferInOf(key));
  return { key, value, headers: { 'content-type': 'application/json', ...headers } };
}

describe('a request', () => {
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
});
