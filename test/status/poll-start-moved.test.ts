/** POLL_START moved while the poller runs: each transaction from then on is announced once, though its state may be forgotten. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withoutRange, withRange } from '../../src/status/poller/catch-up.ts';
import type { TimeRange } from '../../src/status/poller/record.ts';
import { paymentOf, type Payment } from './simulated-service.ts';
import { PollerWorld, SETTINGS } from './poller-world.ts';

const BEGAN_MS = Date.parse('2026-03-01T12:00:00Z');
const HOUR_MS = 3_600_000;
const KEPT_MS = 2 * HOUR_MS;

/** A payment that is COMPLETED after 20 s, created so many hours after the poller's first start. */
function payment(id: string, hours: number): Payment {
  const createdMs = BEGAN_MS + hours * HOUR_MS;
  return paymentOf(id, [createdMs, 'PENDING'], [createdMs + 20_000, 'COMPLETED']);
}

/** @param starts POLL_START and the restart that sets it, in hours after the first start @returns the announced ids, in order */
async function announced(
  payments: readonly Payment[],
  starts: readonly { atHours: number; startHours: number }[],
  forgottenAtHours: Readonly<Record<string, number>> = {},
): Promise<string[]> {
  const settings = { ...SETTINGS, startMs: null as number | null, forgottenAfterMs: KEPT_MS, terminalForMs: HOUR_MS };
  const world = PollerWorld.over(payments, BEGAN_MS, { settings });
  world.start();
  const steps = [
    ...starts.map(({ atHours, startHours }) => ({
      atHours,
      run: () => {
        settings.startMs = BEGAN_MS + startHours * HOUR_MS;
        world.restart();
      },
    })),
    ...Object.entries(forgottenAtHours).map(([id, atHours]) => ({ atHours, run: () => world.forget(id) })),
  ].sort((left, right) => left.atHours - right.atHours);
  for (const { atHours, run } of steps) {
    await world.time.runUntil(BEGAN_MS + atHours * HOUR_MS);
    run();
  }
  await world.time.runUntil(BEGAN_MS + 10 * HOUR_MS);
  world.end();
  return world.transactionEvents
    .filter(({ previousStatus }) => previousStatus === null)
    .map(({ transactionId }) => transactionId);
}

test('set to an earlier time, after a quiet time in which states were forgotten', async () => {
  const payments = [payment('before', -5), payment('known', 0.1)];
  expect(await announced(payments, [{ atHours: 4, startHours: -6 }], { known: 3 })).toEqual(['known', 'before']);
});

test('set to an earlier time: what was created right after the former one is not announced again', async () => {
  const payments = [payment('before', -5), payment('at once', 0.5 / 3_600), payment('known', 0.1)];
  const moves = [
    { atHours: 0.01, startHours: 0 },
    { atHours: 4, startHours: -6 },
  ];
  expect(await announced(payments, moves, { 'at once': 3, known: 3 })).toEqual(['at once', 'known', 'before']);
});

test('set to a later time for a while, and back', async () => {
  const payments = [
    payment('known', 0.1),
    ...Array.from({ length: 30 }, (_, each) => payment(`young ${each}`, 3 + each / 10)),
  ];
  const moves = [
    { atHours: 4, startHours: 4 },
    { atHours: 4.5, startHours: 0 },
  ];
  expect(await announced(payments, moves, { known: 3 })).toEqual(payments.map(({ id }) => id));
});

test('set to a time to come, and back before it: what was passed over is announced', async () => {
  const payments = [payment('known', 0.1), payment('passed over', 5), payment('later', 7)];
  const moves = [
    { atHours: 4, startHours: 8 },
    { atHours: 6, startHours: 0 },
  ];
  expect(await announced(payments, moves, { known: 3 })).toEqual(['known', 'passed over', 'later']);
});

test('a restart while the poller catches up on an earlier start', async () => {
  const before = Array.from({ length: 3_000 }, (_, each) => payment(`before ${each}`, -80 + each / 40));
  const moves = [
    { atHours: 4, startHours: -100 },
    { atHours: 4.2, startHours: -100 },
  ];
  const ids = await announced([...before, payment('known', 0.1)], moves, { known: 3 });
  expect(ids.filter((id) => id === 'known')).toHaveLength(1);
  expect(ids).toHaveLength(before.length + 1);
});

test('ranges are ascending and disjoint, and hold each time that was added and not removed since', () => {
  const range = fc
    .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: -1, max: 20 }))
    .map(([fromMs, length]) => ({ fromMs, toMs: fromMs + length }));
  const isIn = (ms: number, { fromMs, toMs }: TimeRange): boolean => ms >= fromMs && ms <= toMs;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), range), { maxLength: 12 }), (changes) => {
      let ranges: readonly TimeRange[] = [];
      const times = new Set<number>();
      for (const [isAdded, changed] of changes) {
        ranges = isAdded ? withRange(ranges, changed) : withoutRange(ranges, changed);
        for (let ms = changed.fromMs; ms <= changed.toMs; ms += 1) {
          if (isAdded) times.add(ms);
          else times.delete(ms);
        }
      }
      for (let ms = 0; ms <= 90; ms += 1)
        expect(ranges.filter((one) => isIn(ms, one)).length).toBe(times.has(ms) ? 1 : 0);
      expect(ranges.toSorted((left, right) => left.fromMs - right.fromMs)).toEqual(ranges);
    }),
  );
});

test('more ranges than are kept: the two that are closest become one', () => {
  const many = Array.from({ length: 101 }, (_, each) => ({
    fromMs: each * 100 + (each === 7 ? -50 : 0),
    toMs: each * 100 + 5,
  }));
  const ranges = many.reduce<readonly TimeRange[]>((kept, range) => withRange(kept, range), []);
  expect(ranges).toHaveLength(100);
  expect(ranges[6]).toEqual({ fromMs: 600, toMs: 705 });
});
