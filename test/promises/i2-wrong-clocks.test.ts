/** Invariant I2: whichever clock is wrong, no process repeats a call whose key the service may have forgotten. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { transferInOf } from '../support/commands.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const RETENTION_MS = 20_000;
/** The next owner begins later than this, so that no sending seems to lie in the future. */
const FAST_MS = 15_000;
const SLOW_MS = 40_000;

const { stack: open, test } = stackTests({
  name: 'wrong-clocks',
  lanes: 1,
  settings: { API_IDEMPOTENCY_RETENTION: `${RETENTION_MS / 1000}s` },
  sandbox: { idempotencyRetentionMs: RETENTION_MS },
});

function clockOf(aheadMs: number): Record<string, string> {
  const wrongClock = new URL('../support/wrong-clock.ts', import.meta.url).href;
  return { NODE_OPTIONS: `--import ${wrongClock}`, CLOCK_AHEAD_MS: String(aheadMs) };
}

const CLOCKS = [
  { which: 'the next owner has a slow clock', firstMs: 0, nextMs: -SLOW_MS },
  { which: 'the first owner had a fast clock', firstMs: FAST_MS, nextMs: 0 },
];

for (const { firstMs, nextMs, which } of CLOCKS)
  test(`a transfer in doubt that is taken over late is UNKNOWN, not paid again: ${which}`, async () => {
    const stack = open();
    const first = await stack.startProcessor(clockOf(firstMs));
    await stack.service.addFaults(
      { kind: 'drop-after', operation: 'transfer-in', key: 'doubt', count: 1 },
      { kind: 'drop-before', operation: 'transfer-in', key: 'doubt' },
    );
    await stack.publisher.publish('transfer-in', 'doubt', transferInOf('doubt'));
    const effects = async (): Promise<number> =>
      (await stack.service.effects()).operations['transfer-in']['doubt']?.effects ?? 0;
    await eventually(effects, (count) => count === 1, 'the effect');
    await first.kill9();
    await stack.service.clearFaults();
    await sleep(RETENTION_MS + 5_000);

    await stack.startProcessor(clockOf(nextMs));
    const { value } = await stack.journal.result('doubt');
    expect({ outcome: value.outcome, effects: await effects() }).toEqual({ outcome: 'UNKNOWN', effects: 1 });
  });
