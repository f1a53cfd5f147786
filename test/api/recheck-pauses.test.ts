/** The pauses between checks while the service is held, on a clock of the test's own. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createServiceCheck, type ServiceCheck } from '../../src/api/service-check.ts';
import type { ListReading, ServiceState } from '../../src/api/types.ts';
import { aFailure, aPage } from './list-readings.ts';

let answer: ListReading;
let checkedAtMs: number[];
let states: ServiceState[];

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  answer = aPage();
  checkedAtMs = [];
  states = [];
});

function serviceCheck(random: number): ServiceCheck {
  const check = createServiceCheck({
    baseUrl: 'http://service.example',
    clock: { nowMs: () => Date.now(), monotonicMs: () => Date.now() },
    random: () => random,
    listOne: async () => {
      checkedAtMs.push(Date.now());
      return answer;
    },
    onChange: (state) => states.push(state),
  });
  onTestFinished(() => check.close());
  return check;
}

function pausesMs(): number[] {
  return checkedAtMs.slice(1).map((atMs, index) => atMs - (checkedAtMs[index] ?? 0));
}

test.each([
  [0, [500, 1000, 2000, 4000, 7500, 7500]],
  [1, [1000, 2000, 4000, 8000, 15_000, 15_000]],
])('pauses grow to a limit, with jitter %j', async (random, expected) => {
  answer = aFailure('unreachable');
  await serviceCheck(random).start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(pausesMs().slice(0, 6)).toEqual(expected);
});

test('a check that fails while the service serves is repeated until one succeeds', async () => {
  const check = serviceCheck(0);
  await check.start();
  answer = aFailure('unreachable');
  await check.check();
  await vi.advanceTimersByTimeAsync(40_000);
  expect(check.unserved()).toMatchObject({ setting: null, sinceMs: 0 });
  expect(checkedAtMs).toEqual([0, 0, 15_000, 30_000]);
  answer = aPage();
  await vi.advanceTimersByTimeAsync(600_000);
  expect([check.unserved(), check.state().kind]).toEqual([null, 'serving']);
  expect(checkedAtMs).toEqual([0, 0, 15_000, 30_000, 45_000]);
  answer = aFailure('unreachable');
  await check.check();
  check.close();
  expect(vi.getTimerCount()).toBe(0);
});

test('a hold is one state from its beginning, reported once, and ends with the first check that succeeds', async () => {
  answer = aFailure('unreachable');
  const check = serviceCheck(0);
  await check.start();
  await vi.advanceTimersByTimeAsync(5000);
  expect(states).toEqual([expect.objectContaining({ kind: 'held', sinceMs: 0 })]);
  expect(check.state()).toMatchObject({ kind: 'held', sinceMs: 0 });
  answer = aPage();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(states.at(-1)).toEqual({ kind: 'serving' });
  const count = checkedAtMs.length;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(checkedAtMs).toHaveLength(count);
});

test('a service that says how long to wait is asked after that, or after a minute', async () => {
  answer = aFailure('told-to-wait', { retryAfterMs: 20_000 });
  await serviceCheck(0).start();
  await vi.advanceTimersByTimeAsync(500);
  answer = aFailure('told-to-wait', { retryAfterMs: 900_000 });
  await vi.advanceTimersByTimeAsync(20_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(pausesMs()).toEqual([500, 20_000, 60_000]);
});

test('changes answered 401 while GETs succeed are asked ever less often, until a change is answered', async () => {
  const check = serviceCheck(1);
  await check.start();
  const heldForMs: number[] = [];
  const hold = async (): Promise<void> => {
    const sinceMs = Date.now();
    check.hold({ reason: 'r', setting: 'API_TOKEN_ID' });
    while (check.state().kind === 'held') await vi.advanceTimersByTimeAsync(100);
    heldForMs.push(Date.now() - sinceMs);
  };
  for (let count = 0; count < 5; count += 1) await hold();
  check.changeAnswered();
  await hold();
  expect(heldForMs).toEqual([1000, 2000, 4000, 8000, 15_000, 1000]);
});

test('after closing there is no further check', async () => {
  answer = aFailure('unreachable');
  const check = serviceCheck(0);
  await check.start();
  check.close();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(checkedAtMs).toEqual([0]);
  expect(vi.getTimerCount()).toBe(0);
});
