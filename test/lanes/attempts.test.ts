/** Calls and look-ups of an open lane: what comes back when it is over finds nobody, and touches nothing. */
import { expect, test } from 'vitest';
import { Attempts } from '../../src/lanes/calls/attempts.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import type { CallOwner } from '../../src/lanes/calls/calls.ts';
import { aPolicy, aTransaction, entryAt } from '../ledger/entries.ts';

const OPEN_LANE = {
  isCurrent: () => true,
  isOpen: () => true,
  isHeld: () => false,
  wake: () => undefined,
  present: (entry: Entry) => entry,
};
const QUERY = { transactionId: 'Transaction:1', quoteId: null, attempts: 1, createdMs: 0, mayBeOlder: false };
const FOUND = {
  outcome: { kind: 'found', transaction: aTransaction() },
  span: { beganMonotonicMs: 1, endedMonotonicMs: 2 },
};

function attemptsOf(isCurrent: () => boolean): { attempts: Attempts; found: (found: typeof FOUND) => void } {
  const { promise, resolve } = Promise.withResolvers<typeof FOUND>();
  const index = {
    value: () => {
      if (!isCurrent()) throw new Error('the store is not open');
      return undefined;
    },
  };
  const clock = { nowMs: () => 3, monotonicMs: () => 3 };
  const parts = { laneCount: 1, index, clock, lookUps: { find: () => promise } };
  const acquisition = { ...OPEN_LANE, isCurrent, isOpen: isCurrent };
  return { attempts: new Attempts(parts as unknown as LaneParts, acquisition), found: resolve };
}

test('a look-up that ends after the lane is over is nobody\u2019s, and does not ask a store that is closed', async () => {
  let isOver = false;
  const { attempts, found } = attemptsOf(() => !isOver);
  const lookedUp = attempts.lookUp('key', QUERY);
  isOver = true;
  found(FOUND);
  await expect(lookedUp).resolves.toBeUndefined();
  expect(attempts.waitingEvents).toBe(0);
});

test('a look-up that ends while the lane is open is an event of its entry', async () => {
  const { attempts, found } = attemptsOf(() => true);
  const lookedUp = attempts.lookUp('key', QUERY);
  found(FOUND);
  await lookedUp;
  expect(attempts.takeEvent()).toMatchObject({ key: 'key', event: { kind: 'looked-up', attempts: 1 } });
});

test('an intent whose call was never begun is not called when its lane opens: a commit comes first, which a fenced owner fails at', () => {
  const calls = { adopt: () => 'never-begun', begin: () => expect.unreachable('it was called') };
  const parts = { calls, clock: { nowMs: () => 3, monotonicMs: () => 3 }, processId: 'process', sessionTimeoutMs: 1 };
  const attempts = new Attempts(parts as unknown as LaneParts, OPEN_LANE);
  const phase = { state: 'INTENT', attemptId: 'attempt', processId: 'process', atMs: 0, timeoutMs: 1 } as const;
  attempts.takeUp({ ...entryAt('transfer-in'), phase });
  expect(attempts.takeEvent()).toMatchObject({ key: 'key-1', event: { kind: 'not-begun', attemptId: 'attempt' } });
});

test('a call is not begun under another API_TOKEN_ID than its intent names', () => {
  let gate = (): string | null => 'it was not begun';
  const calls = { begin: (_order: unknown, owner: CallOwner) => (gate = () => owner.gate()) };
  const ours = { calls, clock: { nowMs: () => 3, monotonicMs: () => 3 }, isConfirmed: () => true };
  const begin = (callerId: string): void => {
    const parts = { ...ours, policy: aPolicy({ callerId }) };
    new Attempts(parts as unknown as LaneParts, OPEN_LANE).begin({ ...entryAt('transfer-in'), calledAs: 'caller' });
  };
  begin('caller');
  expect(gate()).toBeNull();
  begin('another');
  expect(gate()).toContain('API_TOKEN_ID was changed');
});
