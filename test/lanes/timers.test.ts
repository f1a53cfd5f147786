/** Timers of entries: whatever the wall clock does, a lane does not wait for longer than it may (I5). */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Timers } from '../../src/lanes/timers.ts';
import { entryAt } from '../ledger/entries.ts';

const WAIT_MAX_MS = 60_000;
const WEEK_MS = 7 * 86_400_000;
let aheadMs = 0;
const clock = { nowMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() };

beforeEach(() => {
  aheadMs = 0;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function parkedFor(waitMs: number): Timers {
  const timers = new Timers(clock, WAIT_MAX_MS, () => undefined);
  const phase = { state: 'PARKED' as const, untilMs: clock.nowMs() + waitMs, reason: 'told to wait' };
  timers.set({ ...entryAt('transfer-in'), phase }, clock.nowMs() - clock.monotonicMs());
  return timers;
}

test('an entry is due when its instant has come', () => {
  const timers = parkedFor(5_000);
  vi.advanceTimersByTime(4_999);
  expect(timers.due.size).toBe(0);
  vi.advanceTimersByTime(1);
  expect(timers.due.size).toBe(1);
});

test('an entry whose instant a wrong clock wrote is due after the longest wait', () => {
  const timers = parkedFor(WEEK_MS);
  vi.advanceTimersByTime(WAIT_MAX_MS);
  expect(timers.due.size).toBe(1);
});

test('an entry that waits when the clock is set back is due as if it had not been', () => {
  const timers = parkedFor(5_000);
  aheadMs = -WEEK_MS;
  vi.advanceTimersByTime(5_000);
  expect(timers.due.size).toBe(1);
});
