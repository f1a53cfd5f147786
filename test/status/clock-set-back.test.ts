/** The poller's wall clock was ahead, and is set right while it polls. */
import { expect, test } from 'vitest';
import { PollerWorld, SETTINGS } from './poller-world.ts';
import { paymentOf, PLAIN_MANNER } from './simulated-service.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SET_MS = START_MS + 10 * MINUTE_MS;

test.each([
  [HOUR_MS, 'milliseconds', START_MS - HOUR_MS],
  [DAY_MS, 'milliseconds', START_MS - HOUR_MS],
  [HOUR_MS, 'none', START_MS - HOUR_MS],
  [DAY_MS, 'none', START_MS - HOUR_MS],
  // The first start of the prefix.
  [HOUR_MS, 'milliseconds', null],
  [DAY_MS, 'milliseconds', null],
] as const)(
  'a clock that was %d ms ahead keeps no change from being seen once it is right; updatedAt: %s, POLL_START: %s',
  async (ms, updatedAt, pollStartMs) => {
    const at = (minute: number, status: string): [number, string] => [START_MS + minute * MINUTE_MS, status];
    const payments = [
      paymentOf('Transaction:before', at(2, 'PENDING'), at(15, 'COMPLETED')),
      paymentOf('Transaction:after', at(12, 'PENDING'), at(17, 'COMPLETED')),
    ];
    const settings = { ...SETTINGS, startMs: pollStartMs };
    const aheadMs = (): number => (world.time.nowMs() < SET_MS ? ms : 0);
    const world = PollerWorld.over(payments, START_MS, { settings, aheadMs }, { ...PLAIN_MANNER, updatedAt });
    await world.pollUntil(START_MS + 20 * MINUTE_MS);
    const seen = world.transactionEvents.map(({ status, transactionId }) => `${transactionId} ${status}`);
    expect(seen.sort()).toEqual([
      'Transaction:after COMPLETED',
      'Transaction:after PENDING',
      'Transaction:before COMPLETED',
      'Transaction:before PENDING',
    ]);
  },
);
