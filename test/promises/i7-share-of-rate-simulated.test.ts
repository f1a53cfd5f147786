/** Invariant I7 in virtual time: executions use API_MAX_RPS, though each needs a commit before its call, and keep their share of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { VirtualStack } from '../../proofs/simulation/virtual-stack.ts';
import { executionsOf, publishTransfers, transferInOf } from '../support/commands.ts';
import { withSlowKafka } from './slow-kafka.ts';

const MEASURED_MS = 20_000;
/** Of API_MAX_RPS; less than the share of transfers that wait as well. */
const GUARANTEED_SHARE = 0.3;

test.each([
  { ratePerSecond: 50, slowMs: 0, share: 0.95, besides: 'alone' },
  { ratePerSecond: 50, slowMs: 40, share: 0.85, besides: 'alone' },
  { ratePerSecond: 100, slowMs: 0, share: 0.8, besides: 'alone' },
  { ratePerSecond: 50, slowMs: 0, share: GUARANTEED_SHARE, besides: 'behind transfers' },
  { ratePerSecond: 50, slowMs: 40, share: GUARANTEED_SHARE, besides: 'behind transfers' },
])(
  'executions $besides at $ratePerSecond a second, with Kafka slower by $slowMs ms each way',
  async ({ besides, ratePerSecond, share, slowMs }) => {
    const settings = { API_TIMEOUT_MS: '10000', API_MAX_RPS: String(ratePerSecond) };
    await withSlowKafka({ lanes: 6, settings, slowMs }, async (stack, slowDown) => {
      const count = (ratePerSecond * (MEASURED_MS + 6_000)) / 1_000;
      const executions = await executionsOf(stack, 'execution', count);
      await stack.startProcessor();
      slowDown();
      for (const [key, execution] of executions) await stack.publisher.publish('execute-quote', key, execution);
      if (besides !== 'alone') await publishTransfers(stack, 'transfer', count);
      const calls = async (): Promise<number> => (await stack.service.effects()).totals['execute-quote']?.calls ?? 0;
      await sleep(5_000);
      const before = await calls();
      await sleep(MEASURED_MS);
      expect((await calls()) - before).toBeGreaterThanOrEqual((share * ratePerSecond * MEASURED_MS) / 1_000);
    });
  },
);

/** Executions that wait for the rate; together they take longer than any test waits. */
async function withBacklog(
  ratePerSecond: number,
  body: (
    stack: VirtualStack,
    processor: Awaited<ReturnType<VirtualStack['startProcessor']>>,
    keys: string[],
  ) => Promise<void>,
): Promise<void> {
  const settings = { API_TIMEOUT_MS: '10000', API_MAX_RPS: String(ratePerSecond) };
  await VirtualStack.run({ name: 'backlog', lanes: 6, settings }, async (stack) => {
    const executions = await executionsOf(stack, 'execution', 100 + 30 * ratePerSecond);
    const processor = await stack.startProcessor();
    for (const [key, execution] of executions) await stack.publisher.publish('execute-quote', key, execution);
    await sleep(15_000);
    await body(stack, processor, [...executions.keys()]);
  });
}

test.each([2, 5, 10])(
  'a transfer does not wait for executions that wait for %i calls a second',
  async (ratePerSecond) => {
    await withBacklog(ratePerSecond, async (stack) => {
      await stack.publisher.publish('transfer-in', 'transfer', transferInOf('transfer'));
      await stack.journal.resultsOfAll(['transfer'], 5_000);
    });
  },
);

test('calls that take ten seconds begin at the rate', async () => {
  const settings = { API_TIMEOUT_MS: '30000', API_MAX_RPS: '5' };
  await VirtualStack.run({ name: 'long', lanes: 6, settings }, async (stack) => {
    await stack.service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 10_000 });
    await stack.startProcessor();
    await publishTransfers(stack, 'transfer', 500);
    await sleep(70_000);
    const { totals } = await stack.service.effects();
    expect(totals['transfer-in']?.calls ?? 0).toBeGreaterThan(0.9 * 5 * 60);
  });
});

test.each([5, 20])('after a crash, four seconds of transfers are UNKNOWN at most, at %i a second', async (rps) => {
  const settings = { API_TIMEOUT_MS: '10000', API_MAX_RPS: String(rps) };
  await VirtualStack.run({ name: 'crash', lanes: 6, settings }, async (stack) => {
    const processor = await stack.startProcessor();
    const expiresAt = new Date(Date.now() + 60_000);
    const keys = Array.from({ length: 60 * rps }, (_, index) => `transfer-${index}`);
    for (const key of keys) await stack.publisher.publish('transfer-in', key, transferInOf(key), { expiresAt });
    await sleep(15_000);
    await processor.kill9();
    await sleep(50_000);
    await stack.startProcessor();
    await stack.journal.resultsOfAll(keys, 300_000);
    const unknown = keys.filter((key) => stack.journal.results(key)[0]?.value.outcome === 'UNKNOWN');
    expect(unknown.length).toBeLessThanOrEqual(4 * rps);
  });
});

test.each([5, 20])(
  'after a crash, two seconds of calls are in doubt at most, at %i a second',
  async (ratePerSecond) => {
    await withBacklog(ratePerSecond, async (stack, processor, keys) => {
      await processor.kill9();
      await stack.startProcessor();
      await stack.journal.resultsOfAll(keys, 300_000);
      const attempts = keys.map((key) => stack.journal.results(key)[0]?.value.attempts ?? 0);
      expect(attempts.filter((count) => count > 1).length).toBeLessThanOrEqual(2 * ratePerSecond);
    });
  },
);
