/** The list of transactions is away for longer than states are kept: the poller announces what was created meanwhile, unaided. */
import { expect, test } from 'vitest';
import { aFailure } from '../api/list-readings.ts';
import { paymentOf, PLAIN_MANNER, SimulatedService } from './simulated-service.ts';
import { PollerWorld, SETTINGS } from './poller-world.ts';

const BEGAN_MS = Date.parse('2026-03-01T12:00:00Z');
const HOUR_MS = 3_600_000;

test('a list that is away for longer than states are kept', async () => {
  const payments = Array.from({ length: 42 }, (_, each) => {
    const createdMs = BEGAN_MS + 10_000 + (each * HOUR_MS) / 6;
    return paymentOf(`payment ${each}`, [createdMs, 'PENDING'], [createdMs + 20_000, 'COMPLETED']);
  });
  const service = new SimulatedService(payments, PLAIN_MANNER);
  const isAway = (nowMs: number): boolean => nowMs > BEGAN_MS + HOUR_MS && nowMs < BEGAN_MS + 6 * HOUR_MS;
  const world = new PollerWorld({
    settings: { ...SETTINGS, startMs: BEGAN_MS, forgottenAfterMs: 2 * HOUR_MS, terminalForMs: HOUR_MS },
    startMs: BEGAN_MS,
    list: (filter, nowMs) => (isAway(nowMs) ? aFailure('unreachable') : service.list(filter, nowMs)),
  });
  await world.pollUntil(BEGAN_MS + 8 * HOUR_MS);
  const announced = world.transactionEvents.filter(({ previousStatus }) => previousStatus === null);
  expect(new Set(announced.map(({ transactionId }) => transactionId))).toEqual(new Set(payments.map(({ id }) => id)));
});

test('payments that come faster than discovery lists them are announced, each once, with the calls that they need', async () => {
  const payments = Array.from({ length: 7 * 3_600 }, (_, each) =>
    paymentOf(`payment ${each}`, [BEGAN_MS + 1_000 + (each * 1_000) / 7, 'COMPLETED']),
  );
  // Three calls a minute for each payment a second (docs/sizing.md).
  const settings = { ...SETTINGS, startMs: BEGAN_MS, callsPerMinuteMax: 21 };
  const world = await PollerWorld.over(payments, BEGAN_MS, { settings }).pollUntil(BEGAN_MS + 1.5 * HOUR_MS);
  expect(world.transactionEvents).toHaveLength(payments.length);
  expect(new Set(world.transactionEvents.map(({ transactionId }) => transactionId)).size).toBe(payments.length);
});
