/** Operators' holds, as a lane's owner obeys them: which calls it refuses, and since when it confirms an order. */
import { expect, test } from 'vitest';
import type { HandlerParts } from '../../src/lanes/outcomes.ts';
import { claimCall } from '../../src/lanes/entry-claim.ts';
import { Holds } from '../../src/lanes/inputs/holds.ts';
import type { LaneTransaction } from '../../src/lanes/commits/transaction.ts';
import type { HoldOrder } from '../../src/ledger/holds.ts';
import { aPolicy, entryAt } from '../ledger/entries.ts';
import { partsWith } from './lane-in-memory.ts';

const ENTRY = entryAt('transfer-in');
const AT = '2036-01-01T00:00:00Z';
const SESSION_MS = 6_000;

/** The holds of a lane whose former owner was fenced this long ago. */
function holdsOf(isRead: boolean, fencedForMs = SESSION_MS): Holds {
  const owner = { fencedCallUntilMs: Date.parse(AT) + SESSION_MS - fencedForMs };
  const parts = partsWith([], [], {
    sessionTimeoutMs: SESSION_MS,
    index: { value: () => undefined, owner: () => owner },
    clock: { nowMs: () => Date.parse(AT), monotonicMs: () => 0 },
  });
  return new Holds(parts as ConstructorParameters<typeof Holds>[0], () => isRead);
}

/** An operator holds everything. @returns how many records that writes */
function written(holds: Holds): number {
  let records = 0;
  const transaction = { add: () => void (records += 1), reports: [] } as unknown as LaneTransaction;
  const order: HoldOrder = { action: 'HOLD', commandTypes: [], operator: 'ada', reason: 'tried', until: null, at: AT };
  holds.handle(transaction, { kind: 'order', offset: 0n, order });
  return records;
}

test('a lane calls only once it has read what operators hold', () => {
  expect(holdsOf(false).refusal(ENTRY)).toBe('holds-unread');
  expect(holdsOf(true).refusal(ENTRY)).toBeNull();
});

test('a hold forbids calls while it is being committed', () => {
  const holds = holdsOf(true);
  expect(written(holds)).toBe(1);
  expect(holds.refusal(ENTRY)).toBe('operator-hold');
});

test('an order is obeyed, and not confirmed, while an owner that was fenced may begin calls', () => {
  const holds = holdsOf(true, SESSION_MS - 1);
  expect(written(holds)).toBe(0);
  expect(holds.refusal(ENTRY)).toBe('operator-hold');
});

test('no intent is made for a call that an operator holds', () => {
  const holds = { refusal: () => 'operator-hold' as const };
  const lane = { holds, calls: { claim: () => null }, memory: { quotesOpen: () => 0 }, policy: aPolicy() };
  const attempt = { attemptId: 'attempt', commit: 1 };
  expect(claimCall(lane as unknown as HandlerParts, attempt, ENTRY, false)).toBe('operator-hold');
});
