/** Invariant I7 in virtual time: executions use API_MAX_RPS, though each needs a commit before its call, and keep their share of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { executionOf, publishTransfers } from '../support/commands.ts';
import { withSlowKafka } from './slow-kafka.ts';

const MEASURED_MS = 20_000;
/** Of API_MAX_RPS; less than the share of transfers that wait as well. */
const GUARANTEED_SHARE = 0.3;

test.each([
  { ratePerSecond: 50, slowMs: 0, share: 0.95, besides: 'alone' },
  { ratePerSecond: 50, slowMs: 40, share: 0.95, besides: 'alone' },
  { ratePerSecond: 100, slowMs: 0, share: 0.8, besides: 'alone' },
  { ratePerSecond: 50, slowMs: 0, share: GUARANTEED_SHARE, besides: 'behind transfers' },
  { ratePerSecond: 50, slowMs: 40, share: GUARANTEED_SHARE, besides: 'behind transfers' },
])(
  'executions $besides at $ratePerSecond a second, with Kafka slower by $slowMs ms each way',
  async ({ besides, ratePerSecond, share, slowMs }) => {
    const settings = { API_TIMEOUT_MS: '10000', API_MAX_RPS: String(ratePerSecond) };
    await withSlowKafka({ lanes: 6, settings, slowMs }, async (stack, slowDown) => {
      await stack.service.set({ quoteLifetimeMs: 3_600_000 });
      const count = (ratePerSecond * (MEASURED_MS + 6_000)) / 1_000;
      const keys = Array.from({ length: count }, (_, index) => `execution-${index}`);
      const executions = await Promise.all(keys.map(async (key) => [key, await executionOf(stack, key)] as const));
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
