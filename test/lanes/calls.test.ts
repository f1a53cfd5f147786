/** Invariant I7: a call that waits for a slot or for the rate begins; slots come back. */
import { afterEach, expect, test } from 'vitest';
import type { Reading } from '../../src/api/types.ts';
import { Calls, type CallOwner, type CallsOptions } from '../../src/lanes/calls/calls.ts';
import type { Claim } from '../../src/lanes/calls/claim-limits.ts';
import { eventually } from '../support/watch.ts';

const ANSWER: Reading = { kind: 'never-sent', reason: 'of a test' };
const origin = { topic: 'commands', partition: 0, offset: 0n, timestampMs: 0 };
const open = { gate: () => null, ended: () => undefined };
let calls: Calls | null = null;

afterEach(() => calls?.close());

/** @param perform of the service; tells of each call */
function callsOf(
  perform: (attemptId: string) => Promise<Reading>,
  options: Partial<Pick<CallsOptions, 'slots' | 'ratePerSecond' | 'clock'>> = {},
): Calls {
  calls = new Calls({
    api: {
      perform: (_request, { idempotencyKey }) => perform(idempotencyKey),
      closure: () => null,
      allowance: () => Infinity,
      onChange: () => undefined,
    },
    slots: 2,
    isConfirmed: () => true,
    ratePerSecond: () => Infinity,
    traces: { called: () => undefined },
    clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
    ...options,
  });
  return calls;
}

function claim(attemptId: string, lane: number, mayWait: boolean): Claim {
  return {
    ...(mayWait
      ? { operation: 'transfer-in', workClass: 'transfer' }
      : { operation: 'execute-quote', workClass: 'execution' }),
    attemptId,
    lane,
    commit: 1,
    mayWait,
    quotesOpen: 0,
  };
}

function begin(calls: Calls, attemptId: string, owner: CallOwner): void {
  const request = { operation: 'execute-quote', fields: { quoteId: 'Quote:x' } } as const;
  calls.prepare(attemptId, { request, idempotencyKey: attemptId });
  const command = { key: attemptId, commandType: 'execute-quote', carried: {}, origin } as const;
  calls.begin({ attemptId, command, attempt: 1 }, owner);
}

test('under a limit of the rate all calls begin, though the clock moves on while they are looked at', async () => {
  const began: string[] = [];
  let readings = 0;
  const clock = { nowMs: () => readings, monotonicMs: () => (readings += 1) };
  const underWay = callsOf(
    async (attemptId) => {
      began.push(attemptId);
      return ANSWER;
    },
    { slots: 10, ratePerSecond: () => 100, clock },
  );
  const attemptIds = Array.from({ length: 30 }, (_, index) => `rate-${index}`);
  for (const attemptId of attemptIds) expect(underWay.claim(claim(attemptId, 0, true))).toBeNull();
  for (const attemptId of attemptIds) begin(underWay, attemptId, open);
  await eventually(
    async () => began.length,
    (count) => count === attemptIds.length,
    'all calls to begin',
  );
  expect(began).toEqual(attemptIds);
});

test('a call that its gate refused, and one whose intent was not made, give their slots back', async () => {
  const underWay = callsOf(() => new Promise(() => undefined));
  for (const attemptId of ['a', 'b']) expect(underWay.claim(claim(attemptId, 0, false))).toBeNull();
  expect(underWay.claim(claim('c', 1, false))).toBe('no-slot');
  begin(underWay, 'a', { ...open, gate: () => 'the lane is not open any more' });
  underWay.settle('b');
  for (const attemptId of ['d', 'e']) expect(underWay.claim(claim(attemptId, 1, false))).toBeNull();
});

test('no two-step quote is made where too many wait for their execution', () => {
  const underWay = callsOf(() => new Promise(() => undefined));
  const quote = { ...claim('a', 0, true), operation: 'create-quote', workClass: 'quote-to-execute' } as const;
  expect(underWay.claim({ ...quote, quotesOpen: 200 })).toBe('no-slot');
  expect(underWay.claim({ ...quote, quotesOpen: 0 })).toBeNull();
});

test('a lane that is given up gives back the slots of calls that never began, and keeps those of calls that did', () => {
  const underWay = callsOf(() => new Promise(() => undefined), { slots: 3 });
  for (const attemptId of ['a', 'b', 'c']) expect(underWay.claim(claim(attemptId, 0, false))).toBeNull();
  begin(underWay, 'a', open);
  underWay.release(0);
  for (const attemptId of ['d', 'e']) expect(underWay.claim(claim(attemptId, 1, false))).toBeNull();
  expect(underWay.claim(claim('f', 1, false))).toBe('no-slot');
});

test('the calls of a lane that is handed over end at once if they wait; those that run go on, and others get the slots', async () => {
  const answered = Promise.withResolvers<Reading>();
  const began: string[] = [];
  const underWay = callsOf((attemptId) => {
    began.push(attemptId);
    return answered.promise;
  });
  const ends: string[] = [];
  const owner: CallOwner = { gate: () => null, ended: (attemptId, { kind }) => ends.push(`${attemptId} ${kind}`) };
  for (const attemptId of ['runs', 'runs-too', 'waits', 'waits-too']) {
    expect(underWay.claim(claim(attemptId, 0, true))).toBeNull();
    begin(underWay, attemptId, owner);
  }
  expect(underWay.claim(claim('of-another', 1, true))).toBeNull();
  begin(underWay, 'of-another', owner);
  expect(began).toEqual(['runs', 'runs-too']);
  underWay.drain(0, 'the lane goes to another process');
  expect(ends).toEqual(['waits not-begun', 'waits-too not-begun']);
  underWay.drain(0, 'again');
  expect(ends).toHaveLength(2);
  answered.resolve(ANSWER);
  await eventually(
    async () => ends,
    (all) => all.length === 5,
    'the other ends',
  );
  expect(began).toEqual(['runs', 'runs-too', 'of-another']);
});
