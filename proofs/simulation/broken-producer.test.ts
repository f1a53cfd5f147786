/** A live member whose producer broke still gives up its lanes, so that their next owners need not wait for a timeout. */
import { expect, test } from 'vitest';
import { CLAIM_PREFIX } from '../../src/ledger/ledger-records.ts';
import { eventually } from '../../test/support/watch.ts';
import { VirtualStack } from './virtual-stack.ts';

/** Well below the time that a taker grants a live member: the timeouts of its session, a call and a commit. */
const TAKEN_MS_MAX = 3_000;

/** Fences the processes' producers with another producer of their ids, as an operator's tool may do. */
async function fenceProducers(stack: VirtualStack): Promise<void> {
  const keys = (await stack.readLedger()).flatMap(({ key, value }) => (value === null ? [] : [key?.toString() ?? '']));
  const claims = keys.filter((key) => key.startsWith(CLAIM_PREFIX));
  for (const id of new Set(claims.map((key) => key.slice(CLAIM_PREFIX.length)))) stack.broker.fence(id);
}

test('lanes whose owner finds its producer broken as it releases them open at once elsewhere', () =>
  VirtualStack.run({ name: 'broken', lanes: 4 }, async (stack) => {
    const first = await stack.startProcessor();
    // The process logs this after its first record is committed.
    await first.logged('polling');
    await fenceProducers(stack);
    const other = await stack.spawnProcessor();
    const opened = await eventually(
      async () => other.log().filter(({ event }) => event === 'lane-open'),
      (lines) => lines.length === 2,
      'both lanes of the new member to open',
    );
    for (const { durationMs } of opened) expect(durationMs).toBeLessThan(TAKEN_MS_MAX);
    expect(other.log().filter(({ event }) => event === 'owner-fenced')).toEqual([]);
  }));
