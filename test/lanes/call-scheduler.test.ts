/** Invariant I7: slots and rate are shared out, and idle only where a slot is kept for a moment. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ASK_MS, CallScheduler, CATCH_UP_MS, COMMIT_AHEAD_MS, DELAY_MS } from '../../src/lanes/calls/call-scheduler.ts';
import { SHARES, type WorkClass } from '../../src/lanes/calls/work-classes.ts';

const CLASSES = Object.keys(SHARES) as WorkClass[];

/** A scheduler with the attempts reported to it, on a clock of its own. */
class Shop {
  readonly scheduler: CallScheduler;
  readonly intervalMs: number;
  nowMs = 10_000;
  #count = 0;
  readonly waiting = new Map<string, { workClass: WorkClass; lane: number }>();
  readonly reserved = new Map<string, { workClass: WorkClass; lane: number; isCommitted: boolean }>();
  readonly running = new Map<string, { workClass: WorkClass; lane: number; atMs: number }>();
  /** In the order of their beginning. */
  readonly begun: { attemptId: string; workClass: WorkClass; lane: number; atMs: number }[] = [];
  /** Lanes notified that a slot is kept for them, in order. */
  readonly told: number[] = [];

  constructor(slots: number, intervalMs = 0) {
    this.scheduler = new CallScheduler(slots);
    this.intervalMs = intervalMs;
  }

  queue(workClass: WorkClass, lane = 0, count = 1): void {
    for (let index = 0; index < count; index += 1) {
      const attemptId = this.#name(workClass);
      this.waiting.set(attemptId, { workClass, lane });
      this.scheduler.queue(attemptId, workClass, lane);
    }
    this.pump();
  }

  /** @returns the attempt that has a slot, or null */
  reserve(workClass: WorkClass, lane = 0, commit = 1): string | null {
    const attemptId = this.#name(workClass);
    this.scheduler.ask(workClass, lane, commit, this.nowMs);
    this.pump();
    if (!this.scheduler.take(attemptId, workClass, lane, this.nowMs)) return null;
    this.reserved.set(attemptId, { workClass, lane, isCommitted: false });
    return attemptId;
  }

  commit(attemptId: string): void {
    const reserved = this.reserved.get(attemptId);
    if (reserved === undefined || reserved.isCommitted) return;
    reserved.isCommitted = true;
    this.scheduler.commit(attemptId);
    this.pump();
  }

  cancel(attemptId: string): void {
    this.reserved.delete(attemptId);
    this.scheduler.cancel(attemptId);
    this.pump();
  }

  end(attemptId: string | undefined): void {
    const call = attemptId === undefined ? undefined : this.running.get(attemptId);
    if (attemptId === undefined || call === undefined) return;
    this.running.delete(attemptId);
    this.scheduler.free(call.workClass);
    this.pump();
  }

  release(lane: number): void {
    for (const attempts of [this.waiting, this.reserved])
      for (const [attemptId, attempt] of attempts) if (attempt.lane === lane) attempts.delete(attemptId);
    this.scheduler.release(lane);
    this.pump();
  }

  /** Time passes as a timer of the scheduler's wish divides it. */
  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const atMs = this.scheduler.lookAgainMs(this.#moment());
      if (atMs === null || atMs > untilMs) break;
      this.nowMs = atMs;
      this.pump();
    }
    this.nowMs = untilMs;
    this.pump();
  }

  oldest(workClass: WorkClass): string | undefined {
    return [...this.running].find(([, call]) => call.workClass === workClass)?.[0];
  }

  begunOf(workClass: WorkClass): number {
    return this.begun.filter((call) => call.workClass === workClass).length;
  }

  pump(): void {
    for (let step = this.scheduler.next(this.#moment()); step !== null; step = this.scheduler.next(this.#moment())) {
      if (step.kind === 'kept') {
        this.told.push(step.lane);
        continue;
      }
      const { attemptId } = step;
      const reserved = this.reserved.get(attemptId);
      const call = reserved?.isCommitted === true ? reserved : this.waiting.get(attemptId);
      if (call === undefined) throw new Error(`${attemptId} may not begin`);
      this.waiting.delete(attemptId);
      this.reserved.delete(attemptId);
      const { workClass, lane } = call;
      this.running.set(attemptId, { workClass, lane, atMs: this.nowMs });
      this.begun.push({ attemptId, workClass, lane, atMs: this.nowMs });
      this.scheduler.began(this.#moment());
    }
  }

  #moment(): { nowMs: number; intervalMs: number } {
    return { nowMs: this.nowMs, intervalMs: this.intervalMs };
  }

  #name(workClass: WorkClass): string {
    this.#count += 1;
    return `${workClass}-${this.#count}`;
  }
}

/** So many calls, one ending after the other. */
function serve(shop: Shop, calls: number): void {
  for (let count = 0; count < calls; count += 1) shop.end([...shop.running.keys()][0]);
}

describe('classes', () => {
  test.each([1, 3, 20])('%d slots: each class gets its share while all wait', (slots) => {
    const shop = new Shop(slots);
    for (const workClass of CLASSES) shop.queue(workClass, 0, 500);
    serve(shop, 500);
    const first = shop.begun.length - 400;
    for (const workClass of CLASSES) {
      const served = shop.begun.slice(first).filter((call) => call.workClass === workClass).length;
      expect(Math.abs(served - 40 * SHARES[workClass])).toBeLessThanOrEqual(slots);
    }
  });

  test('a class whose calls hang does not keep the others from their slots', () => {
    const shop = new Shop(10);
    for (const workClass of CLASSES) shop.queue(workClass, 0, 100);
    // All end but transfers.
    for (let count = 0; count < 100; count += 1)
      shop.end([...shop.running].find(([, call]) => call.workClass !== 'transfer')?.[0]);
    const hanging = [...shop.running.values()].filter(({ workClass }) => workClass === 'transfer').length;
    expect(hanging).toBe(SHARES.transfer);
  });

  test('what one class has no use for the others get', () => {
    const shop = new Shop(10);
    shop.queue('transfer', 0, 30);
    expect(shop.running.size).toBe(10);
    shop.queue('other', 0, 30);
    serve(shop, 10);
    expect(shop.running.size).toBe(10);
    expect([...shop.running.values()].filter(({ workClass }) => workClass === 'other').length).toBeGreaterThanOrEqual(
      2,
    );
  });

  test('a class that had nothing to do has no claim to make up for it', () => {
    const shop = new Shop(1);
    shop.queue('transfer', 0, 300);
    serve(shop, 100);
    shop.queue('execution', 0, 100);
    const before = shop.begunOf('transfer');
    serve(shop, 20);
    expect(shop.begunOf('transfer') - before).toBeGreaterThanOrEqual(9);
  });

  test('the lanes of a class are served in turn', () => {
    const shop = new Shop(2);
    shop.queue('transfer', 0, 100);
    shop.queue('transfer', 1, 5);
    shop.queue('transfer', 2, 5);
    serve(shop, 15);
    const lanes = shop.begun.slice(-15).map(({ lane }) => lane);
    expect(lanes.filter((lane) => lane === 1)).toHaveLength(5);
    expect(lanes.filter((lane) => lane === 2)).toHaveLength(5);
  });
});

describe('intents that may not wait', () => {
  test('a free slot is theirs at once, and nobody else gets it before their call', () => {
    const shop = new Shop(2);
    const attemptId = shop.reserve('execution') ?? '';
    shop.queue('transfer', 0, 10);
    expect(shop.begunOf('transfer')).toBe(1);
    shop.commit(attemptId);
    expect(shop.begun.at(-1)).toMatchObject({ attemptId });
  });

  test('where all slots are taken the next one is kept for the lane that asked', () => {
    const shop = new Shop(4);
    shop.queue('transfer', 0, 400);
    expect(shop.reserve('execution', 7)).toBeNull();
    shop.end(shop.oldest('transfer'));
    expect(shop.told).toEqual([7]);
    expect(shop.running.size).toBe(3);
    expect(shop.reserve('execution', 7)).not.toBeNull();
  });

  test('a slot that nobody comes for is a waiting call’s again, after a bounded time', () => {
    const shop = new Shop(4);
    shop.queue('transfer', 0, 400);
    shop.reserve('execution', 7);
    shop.end(shop.oldest('transfer'));
    shop.pass(ASK_MS - 1);
    expect(shop.running.size).toBe(3);
    shop.pass(1);
    expect(shop.running.size).toBe(4);
    expect(shop.begunOf('execution')).toBe(0);
  });

  test('who asked long ago and did not come back is kept nothing', () => {
    const shop = new Shop(1);
    shop.queue('transfer', 0, 10);
    shop.reserve('execution', 7);
    shop.pass(ASK_MS);
    shop.end(shop.oldest('transfer'));
    expect(shop.running.size).toBe(1);
  });

  test('a lane that uses up the slots kept for it is kept more, up to the share', () => {
    const shop = new Shop(20);
    shop.queue('transfer', 0, 10_000);
    const gotten: number[] = [];
    for (let commit = 1; commit <= 6; commit += 1) {
      const attempts: string[] = [];
      for (let attemptId = shop.reserve('execution', 7, commit); attemptId !== null;) {
        attempts.push(attemptId);
        attemptId = shop.reserve('execution', 7, commit);
      }
      gotten.push(attempts.length);
      for (const attemptId of attempts) shop.commit(attemptId);
      for (const attemptId of attempts) shop.end(attemptId);
      for (let count = 0; count < 20; count += 1) shop.end(shop.oldest('transfer'));
    }
    expect(gotten[1]).toBe(1);
    expect(Math.max(...gotten)).toBe(6);
  });

  test('lanes that ask are kept slots in turn', () => {
    const shop = new Shop(3);
    shop.queue('transfer', 0, 100);
    for (const lane of [4, 5, 6]) shop.reserve('execution', lane);
    for (let count = 0; count < 3; count += 1) shop.end(shop.oldest('transfer'));
    expect(new Set(shop.told).size).toBe(shop.told.length);
  });

  test('what is released with its lane gives everything back', () => {
    const shop = new Shop(2);
    shop.reserve('execution', 7);
    shop.commit(shop.reserve('execution', 7) ?? '');
    shop.release(7);
    shop.queue('transfer', 0, 5);
    expect(shop.running.size).toBe(2);
  });
});

describe('a limit of the rate', () => {
  const beginnings = (shop: Shop): number[] => shop.begun.map(({ atMs }) => atMs);

  test.each([5, 40, 500])('a call each %d ms, never more, and none is left out', (intervalMs) => {
    const shop = new Shop(10, intervalMs);
    shop.queue('transfer', 0, 100);
    const instants = 50;
    for (let count = 0; count < instants; count += 1) {
      for (const attemptId of [...shop.running.keys()]) shop.end(attemptId);
      shop.pass(intervalMs);
    }
    const times = beginnings(shop);
    expect(times.slice(1).every((atMs, index) => atMs - times[index]! >= intervalMs)).toBe(true);
    expect(times).toHaveLength(instants + 1);
  });

  test.each([5, 40, 500])('a call each %d ms: both kinds of intents get their share of the calls', (intervalMs) => {
    const shop = new Shop(20, intervalMs);
    const commitMs = 25;
    shop.queue('transfer', 0, 2_000);
    const beganMs = shop.nowMs;
    for (let commit = 1; shop.begun.length < 200; commit += 1) {
      const attempts: string[] = [];
      for (let attemptId = shop.reserve('execution', 7, commit); attemptId !== null;) {
        attempts.push(attemptId);
        attemptId = shop.reserve('execution', 7, commit);
      }
      shop.pass(commitMs);
      for (const attemptId of attempts) shop.commit(attemptId);
      for (const attemptId of [...shop.running.keys()]) shop.end(attemptId);
    }
    expect(shop.begunOf('execution')).toBeGreaterThan(80);
    expect(shop.begunOf('transfer')).toBeGreaterThan(80);
    // Nothing of the rate is lost on intents that are being committed.
    expect(shop.nowMs - beganMs).toBeLessThanOrEqual(200 * intervalMs + 2 * commitMs);
  });

  test.each([
    { ratePerSecond: 200, turnMs: 3, percent: 100 },
    { ratePerSecond: 800, turnMs: 12, percent: 100 },
    { ratePerSecond: 800, turnMs: 62.5, percent: 82 },
  ])('$percent % of $ratePerSecond calls a second, though the event loop turns each $turnMs ms', (given) => {
    const { percent, ratePerSecond, turnMs } = given;
    const share = percent / 100;
    const shop = new Shop(100, 1_000 / ratePerSecond);
    shop.queue('transfer', 0, 10 * ratePerSecond);
    for (const beganMs = shop.nowMs; shop.nowMs < beganMs + 1_000;) {
      shop.nowMs += turnMs;
      shop.pump();
      for (const attemptId of [...shop.running.keys()]) shop.end(attemptId);
    }
    expect(shop.begun.length / ratePerSecond).toBeGreaterThan(0.98 * share);
    expect(shop.begun.length / ratePerSecond).toBeLessThan(1.06 * share);
  });

  test('an idle member saves nothing up', () => {
    const shop = new Shop(10, 5);
    shop.queue('transfer');
    shop.pass(1_000);
    shop.queue('transfer', 0, 3);
    shop.pass(9);
    expect(shop.begun).toHaveLength(3);
  });

  test('an intent that may not wait is made right before its call is allowed, and not earlier', () => {
    const intervalMs = 2 * COMMIT_AHEAD_MS;
    const shop = new Shop(10, intervalMs);
    shop.queue('transfer', 0, 2);
    expect(shop.reserve('execution', 7)).toBeNull();
    shop.pass(intervalMs - COMMIT_AHEAD_MS - 1);
    expect(shop.reserve('execution', 7)).toBeNull();
    shop.pass(1);
    expect(shop.told).toEqual([7]);
    shop.pass(COMMIT_AHEAD_MS - DELAY_MS / 2);
    const attemptId = shop.reserve('execution', 7) ?? '';
    shop.pass(DELAY_MS / 2 + 10);
    expect(shop.begunOf('transfer')).toBe(1);
    shop.commit(attemptId);
    expect(shop.begun.at(-1)).toMatchObject({ attemptId });
  });

  test('a commit that takes long does not hold up the others for ever', () => {
    const shop = new Shop(10, 2 * COMMIT_AHEAD_MS);
    expect(shop.reserve('execution', 7)).not.toBeNull();
    shop.queue('transfer', 0, 2);
    expect(shop.running.size).toBe(0);
    shop.pass(DELAY_MS);
    expect(shop.begunOf('transfer')).toBe(1);
  });
});

type Act =
  | { kind: 'queue' | 'reserve'; workClass: WorkClass; lane: number }
  | { kind: 'commit' | 'cancel' | 'end'; which: number }
  | { kind: 'drop'; lane: number }
  | { kind: 'pass'; ms: number };

const workClass = fc.constantFrom(...CLASSES);
const lane = fc.integer({ min: 0, max: 3 });
const which = fc.nat({ max: 30 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('queue' as const, 'reserve' as const), workClass, lane }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('commit' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), lane }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat({ max: 400 }) }) },
);

function perform(shop: Shop, what: Act): void {
  const nth = (attempts: ReadonlyMap<string, unknown>, index: number): string =>
    [...attempts.keys()][index % Math.max(1, attempts.size)] ?? '';
  if ('workClass' in what) shop[what.kind](what.workClass, what.lane);
  else if ('which' in what) shop[what.kind](nth(what.kind === 'end' ? shop.running : shop.reserved, what.which));
  else if ('ms' in what) shop.pass(what.ms);
  else shop.release(what.lane);
}

test('whatever happens, slots are never exceeded, and what is kept in vain is soon used', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom(0, 0, 7, 300),
      fc.array(act, { maxLength: 120 }),
      (slots, intervalMs, acts) => {
        const shop = new Shop(slots, intervalMs);
        for (const what of acts) {
          perform(shop, what);
          expect(shop.running.size + shop.reserved.size).toBeLessThanOrEqual(slots);
        }
        // Any two calls, and those between them.
        let earliestMs = -Infinity;
        for (const [index, { atMs }] of shop.begun.entries()) {
          expect(atMs).toBeGreaterThanOrEqual(earliestMs + index * intervalMs);
          earliestMs = Math.max(earliestMs, atMs - CATCH_UP_MS - index * intervalMs);
        }
        // Everybody commits what they have, and nobody comes any more.
        for (const attemptId of [...shop.reserved.keys()]) shop.commit(attemptId);
        // Somebody may have asked while a slot was kept for another.
        shop.pass(2 * ASK_MS + intervalMs * (slots + 1));
        expect(shop.reserved.size).toBe(0);
        if (shop.waiting.size > 0) expect(shop.running.size).toBe(slots);
      },
    ),
    { numRuns: 500 },
  );
});
