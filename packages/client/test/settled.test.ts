/** A payment of a real processor, followed from its command to its end by the command's key alone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PaymentClient, type Settlement } from '../src/index.ts';
import { laneOf } from 'payment-processor-contract/keys';
import { runCli } from '../../cli/test/run-cli.ts';
import { LANES } from '../../../test/support/stack-options.ts';
import { transferInOf } from '../../../test/support/commands.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { openTransaction } from './fixtures.ts';

const stack = useStack({
  name: 'settled',
  sandbox: { settleMs: 4_000 },
  settings: { POLL_INTERVAL_MS: '500', POLL_MAX_CALLS_PER_MINUTE: '6000', API_IDEMPOTENT_OPERATIONS: '' },
});
const WAIT = { timeoutMs: 30_000 };
let client: PaymentClient;

beforeAll(async () => {
  await stack().startProcessor();
  client = await PaymentClient.connect(stack().settings);
});
afterAll(async () => client.close());

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

describe('a payment', () => {
  test('is followed from its command to COMPLETED, and taken up again by its key alone', async () => {
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

  test('that was refused, or of which nothing is known, is distinguished from a settled one', async () => {
    const key = 'refused';
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
