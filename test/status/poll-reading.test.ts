/** What bounds the poller's reading: its budget, the passes over pages, and what a service may do while it is read. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListReading } from '../../src/api/types.ts';
import { PollBudget } from '../../src/status/poller/budget.ts';
import { PollScan } from '../../src/status/poller/scan.ts';
import { PollWalk } from '../../src/status/poller/walk.ts';
import { aFailure, aPage } from '../api/list-readings.ts';
import { aTransaction } from '../ledger/entries.ts';
import { paymentOf, PLAIN_MANNER, SimulatedService, type Payment } from './simulated-service.ts';
import { PollerWorld, SETTINGS } from './poller-world.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const page = (nextCursor: string | null, hasMore = nextCursor !== null): ListReading => aPage({ hasMore, nextCursor });

describe('the budget', () => {
  test('gives no more calls than the limit in any minute, whenever they are asked for', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 700 }),
        fc.array(fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 30_000 })), { maxLength: 900 }),
        (limit, pausesMs) => {
          const budget = new PollBudget(limit, 0);
          const taken: number[] = [];
          let nowMs = 0;
          for (const pauseMs of pausesMs) {
            nowMs += pauseMs;
            if (budget.take(nowMs) === 0) taken.push(nowMs);
          }
          for (const [index, atMs] of taken.entries()) {
            expect((taken[index + limit] ?? Infinity) - atMs).toBeGreaterThanOrEqual(MINUTE_MS - 1);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test('says how long to wait for the next call', () => {
    const budget = new PollBudget(60, 0);
    expect(budget.take(1_000 + budget.take(0))).toBe(0);
    for (;;) {
      const waitMs = budget.take(5_000);
      if (waitMs === 0) continue;
      expect(budget.take(5_000 + waitMs - 2)).toBeGreaterThan(0);
      expect(budget.take(5_000 + waitMs)).toBe(0);
      break;
    }
  });

  test.each([
    ['counts look-ups of doubt, which do not wait', 4_000, 60 - 15],
    ['leaves the poller half, however many look-ups there are', 100, 30],
  ])('%s', (_, lookUpEveryMs, callsPerMinute) => {
    const budget = new PollBudget(60, 0);
    let taken = 0;
    for (let nowMs = 0; nowMs < HOUR_MS; nowMs += 100) {
      if (nowMs % lookUpEveryMs === 0) budget.spend(nowMs);
      if (budget.take(nowMs) === 0) taken += 1;
    }
    expect(taken / 60).toBeGreaterThan(callsPerMinute - 2);
    expect(taken / 60).toBeLessThan(callsPerMinute + 1);
  });

  test('makes up for look-ups in a pause', () => {
    const budget = new PollBudget(60, 0);
    for (let count = 0; count < 20; count += 1) budget.spend(0);
    for (let nowMs = 0; nowMs <= MINUTE_MS; nowMs += 1_000) budget.spend(nowMs);
    // A minute without calls fills the bucket, and repays what it would have lost.
    const laterMs = 2 * MINUTE_MS + 5_000;
    while (budget.take(laterMs) === 0);
    expect(budget.take(laterMs)).toBeLessThanOrEqual(1_100);
  });

  test('says how long to wait while look-ups are to be made up for', () => {
    const budget = new PollBudget(60, 0);
    for (let count = 0; count < 20; count += 1) budget.spend(0);
    const waitMs = budget.take(0);
    expect(waitMs).toBeGreaterThan(2_000);
    expect(budget.take(waitMs - 2)).toBeGreaterThan(0);
    expect(budget.take(waitMs)).toBe(0);
  });
});

describe('a pass over pages', () => {
  const window = { fromMs: START_MS, toMs: START_MS + 1_000, status: 'FAILED' };

  test('asks for pages of 100 of its window and follows cursors to the end', () => {
    const scan = new PollScan(window);
    expect(scan.filter()).toEqual({
      startDate: '2026-03-01T11:59:59.000Z',
      endDate: '2026-03-01T12:00:02.000Z',
      status: 'FAILED',
      limit: 100,
    });
    scan.take(page('a'));
    expect(scan.filter().cursor).toBe('a');
    scan.take(page(null));
    expect(scan.stage).toBe('whole');
  });

  test('begins anew when its cursor is refused, when pages go round and when a cursor is missing, but not for ever', () => {
    const bad: [string, ListReading][] = [
      ['refused', aFailure('refused')],
      ['going round', page('a')],
      ['missing', page(null, true)],
    ];
    for (const [, reading] of bad) {
      const scan = new PollScan(window);
      scan.take(page('a'));
      scan.take(reading);
      expect([scan.stage, scan.filter().cursor]).toEqual(['reading', undefined]);
      for (let restarts = 0; restarts < 2; restarts += 1) {
        scan.take(page('a'));
        scan.take(reading);
      }
      expect(scan.stage).toBe('broken');
    }
  });

  test('asks for shorter pages where one is too long, which is no failure of the service until it has one transaction', () => {
    const scan = new PollScan(window);
    scan.take(page('a'));
    const limits: unknown[] = [];
    while (scan.stage === 'reading') {
      limits.push(scan.filter().limit);
      expect(scan.filter().cursor).toBe('a');
      scan.take(aFailure('unreachable', { isTooLong: true }));
    }
    expect(limits).toEqual([100, 50, 25, 12, 6, 3, 1, 1, 1, 1, 1]);
  });

  test('asks for the same page again after a failure, a few times', () => {
    const scan = new PollScan(window);
    scan.take(page('a'));
    for (let count = 0; count < 4; count += 1) scan.take(aFailure('unreachable'));
    expect([scan.stage, scan.filter().cursor]).toEqual(['reading', 'a']);
    scan.take(aFailure('unreachable'));
    expect(scan.stage).toBe('broken');
  });

  test('has a limited number of pages; a walk then takes smaller slices, and passes over a second that cannot be read', () => {
    const walk = new PollWalk({ fromMs: START_MS, toMs: START_MS + 8_000 }, { status: null, sliceMs: 8_000 });
    const sliceOf = () => walk.scan()!;
    const first = sliceOf();
    let count = 0;
    while (first.stage === 'reading') first.take(page(`${(count += 1)}`));
    expect([count, first.stage]).toEqual([50, 'too-long']);
    walk.advance();
    expect(sliceOf().window.toMs).toBe(START_MS + 2_000);
    for (const fromMs of [START_MS, START_MS + 1_000]) {
      while (sliceOf().stage === 'reading') sliceOf().take(aFailure('unreachable'));
      walk.advance();
      expect(walk.left()?.fromMs).toBe(fromMs);
    }
    while (walk.left() !== null) {
      sliceOf().take(page(null));
      walk.advance();
    }
    expect(walk.isWhole()).toBe(false);
  });
});

test('a transaction that the service cannot list keeps none that were created after it from being announced', async () => {
  const payments = Array.from({ length: 40 }, (_, index) =>
    paymentOf(`p${index}`, [START_MS + index * HOUR_MS, 'PENDING']),
  );
  const service = new SimulatedService(payments, PLAIN_MANNER);
  let isBroken = true;
  const world = new PollerWorld({
    settings: { ...SETTINGS, startMs: START_MS },
    startMs: START_MS + 48 * HOUR_MS,
    list: (filter, nowMs) => {
      const shown = service.list(filter, nowMs);
      const hasIt = shown.kind === 'page' && shown.data.some(({ id }) => id === 'p5');
      return hasIt && isBroken ? aFailure('unreachable', { httpStatus: 500 }) : shown;
    },
  });
  const announced = () => new Set(world.transactionEvents.map(({ transactionId }) => transactionId)).size;
  world.start();
  await world.time.runUntil(START_MS + 50 * HOUR_MS);
  expect(announced()).toBe(39);
  const badMs = START_MS + 5 * HOUR_MS;
  const isNear = world.leftForLater.map(({ fromMs, toMs }) => fromMs >= badMs - 5_000 && toMs <= badMs + 5_000);
  expect(new Set(isNear)).toEqual(new Set([true]));
  isBroken = false;
  await world.time.runUntil(START_MS + 51 * HOUR_MS);
  world.end();
  expect(announced()).toBe(40);
});

describe('the poller', () => {
  const paymentsAt = (count: number, fromMs: number, stepMs: number): Payment[] =>
    Array.from({ length: count }, (_, index) =>
      paymentOf(`Transaction:${index}`, [fromMs + index * stepMs, 'PENDING']),
    );

  test('backs off from a service that cannot be reached, waits as long as it is asked to, and goes on', async () => {
    const service = new SimulatedService(paymentsAt(3, START_MS + 1_000, 1_000), PLAIN_MANNER);
    const world = new PollerWorld({
      settings: SETTINGS,
      startMs: START_MS,
      list: (filter, nowMs) => {
        if (nowMs < START_MS + 2_000) return service.list(filter, nowMs);
        if (nowMs < START_MS + 5 * MINUTE_MS) return aFailure('unreachable');
        return nowMs < START_MS + 8 * MINUTE_MS
          ? aFailure('told-to-wait', { retryAfterMs: 90_000 })
          : service.list(filter, nowMs);
      },
    });
    await world.pollUntil(START_MS + 12 * MINUTE_MS);
    const between = (from: number, to: number): number =>
      world.callTimes.filter((at) => at >= START_MS + from * MINUTE_MS && at < START_MS + to * MINUTE_MS).length;
    expect(between(0.1, 5)).toBeLessThan(14);
    expect(between(6, 8)).toBeLessThan(4);
    expect(world.transactionEvents.length).toBe(3);
  });

  test('announces from POLL_START on, however long ago, at the pace of its budget, and nothing from before', async () => {
    // Two days, one payment every twenty seconds; POLL_START is a day ago.
    const payments = paymentsAt(8_640, START_MS - 2 * 86_400_000, 20_000);
    const startMs = START_MS - 86_400_000;
    const world = PollerWorld.over(payments, START_MS, { settings: { ...SETTINGS, startMs } });
    await world.pollUntil(START_MS + 5 * MINUTE_MS);
    const expected = payments.filter(({ changes }) => changes[0].atMs >= startMs);
    expect(new Set(world.transactionEvents.map(({ transactionId }) => transactionId))).toEqual(
      new Set(expected.map(({ id }) => id)),
    );
    expect(world.transactionEvents.length).toBe(expected.length);
    expect(world.record()?.unlisted).toEqual([{ fromMs: 0, toMs: startMs - 1 }]);
  });

  test('announces nothing that existed before its first start, and keeps that start', async () => {
    const before = paymentsAt(300, START_MS - 10 * MINUTE_MS, 1_900);
    const after = paymentOf('Transaction:after', [START_MS + 30_000, 'PENDING']);
    let commits = 0;
    const fate = (): 'dies-before' | 'commits' => ((commits += 1) === 2 ? 'dies-before' : 'commits');
    const world = PollerWorld.over([...before, after], START_MS, { fate });
    await world.pollUntil(START_MS + 20 * MINUTE_MS);
    expect(world.deaths).toBe(1);
    expect(world.transactionEvents.map(({ transactionId }) => transactionId)).toEqual(['Transaction:after']);
  });

  test('is not kept from announcing by one that is dated in the future at its first start', async () => {
    const payments = paymentsAt(3, START_MS + MINUTE_MS, 10 * MINUTE_MS);
    const service = new SimulatedService(payments, PLAIN_MANNER);
    const future = {
      ...aTransaction({ id: 'Transaction:future', type: 'INCOMING' }),
      createdAt: '2099-01-01T00:00:00Z',
    };
    const world = new PollerWorld({
      settings: SETTINGS,
      startMs: START_MS,
      list: (filter, ms) => {
        const listed = service.list(filter, ms);
        return listed.kind === 'page' ? { ...listed, data: [future, ...listed.data] } : listed;
      },
    });
    await world.pollUntil(START_MS + 40 * MINUTE_MS);
    const announced = world.transactionEvents.map(({ transactionId }) => transactionId);
    expect(payments.filter(({ id }) => !announced.includes(id))).toEqual([]);
  });

  test.each(['REFUNDED', 'FAILED', 'PENDING'])(
    'sees a payment of hours ago that was COMPLETED become %s, among many that do not change',
    async (status) => {
      const others = paymentsAt(3_000, START_MS + 2 * MINUTE_MS, 4_000).map(({ changes, id }): Payment => {
        const { atMs, status } = changes[0];
        return paymentOf(id, [atMs, status], [atMs + 3_000, 'COMPLETED']);
      });
      const [first] = others;
      const changedMs = START_MS + 150 * MINUTE_MS;
      const changed: Payment = {
        id: first!.id,
        changes: [...first!.changes, { atMs: changedMs, status, failureReason: null }],
      };
      const world = PollerWorld.over([changed, ...others.slice(1)], START_MS);
      await world.pollUntil(changedMs + 10 * MINUTE_MS);
      const events = world.transactionEvents.filter(({ transactionId }) => transactionId === changed.id);
      expect(events.at(-1)?.status).toBe(status);
      expect(world.transactionEvents.length).toBeGreaterThan(3_000);
      expect(world.sweeps).toBeGreaterThan(2);
    },
  );

  test.each([
    ['', 2],
    [', once the time was raised', 24],
  ])('does not announce again what was forgotten and is listed beside an old open transaction%s', async (_, hours) => {
    const settings = { ...SETTINGS, forgottenAfterMs: 2 * HOUR_MS, terminalForMs: HOUR_MS };
    const createdMs = START_MS + 10_000;
    const open = paymentOf('Transaction:open', [createdMs, 'PENDING']);
    const ended = paymentOf('Transaction:ended', [createdMs + 1, 'PENDING'], [createdMs + 20_000, 'COMPLETED']);
    const world = PollerWorld.over([open, ended], START_MS, { settings });
    world.start();
    await world.time.runUntil(START_MS + 3 * HOUR_MS);
    world.forget('Transaction:ended');
    settings.forgottenAfterMs = hours * HOUR_MS;
    world.restart();
    await world.time.runUntil(START_MS + 5 * HOUR_MS);
    world.end();
    expect(world.transactionEvents.map(({ status }) => status)).toEqual(['PENDING', 'PENDING', 'COMPLETED']);
  });
});
