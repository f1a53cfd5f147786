/**
 * What the poller sees before its command's own observation: it waits for the command's result, so that no event goes out
 * that does not name its command; and not for ever.
 */
import { describe, expect, test } from 'vitest';
import type { PossibleEffect } from '../../src/ledger/effect.ts';
import { HeldNews, type Look } from '../../src/status/poller/held-news.ts';
import type { PolledObservation } from '../../src/status/poller/news.ts';
import { unseenState, type TransactionState } from '../../src/status/transaction-state.ts';
import type { Transaction } from 'payment-processor-contract/types';
import { aTransaction } from '../ledger/entries.ts';
import { anObservation, answerOf } from './observations.ts';
import { PollerWorld, SETTINGS } from './poller-world.ts';
import { paymentOf, PLAIN_MANNER, SimulatedService } from './simulated-service.ts';

const MAX_MS = 60_000;
const ID = 'Transaction:1';
const EMPTY = aTransaction({ type: 'INCOMING' });
const account = (accountId: string) => ({ accountId, currency: null, otherFieldsJson: null });
const SHOWN: Transaction = {
  ...EMPTY,
  type: 'INCOMING',
  source: { sourceType: 'ACCOUNT', ...account('External:1') },
  destination: { destinationType: 'ACCOUNT', ...account('Internal:1') },
};
const TRANSFER: PossibleEffect = {
  key: 'in',
  on: 'new',
  type: 'INCOMING',
  sourceAccountId: 'External:1',
  destinationAccountId: 'Internal:1',
};
const REJECTION: PossibleEffect = { key: 'reject', on: 'transaction', transactionId: ID };
const EXECUTION: PossibleEffect = { key: 'execute', on: 'quote', quoteId: 'Quote:1' };

function observed(transaction: Transaction): PolledObservation {
  return { ...anObservation({}), transaction };
}

function heldOf(...transactions: Transaction[]): HeldNews {
  const held = new HeldNews(MAX_MS);
  transactions.forEach((transaction, index) => held.add([observed(transaction)], index + 1, 0));
  return held;
}

function look(effects: readonly PossibleEffect[], changes: Partial<Look> = {}): Look {
  return { readUpTo: Infinity, possibleEffects: effects, stateOf: () => undefined, nowMs: 1, ...changes };
}

const knownAs = (changes: Partial<TransactionState>) => () => ({ ...unseenState(ID), status: 'PENDING', ...changes });

test('a look at many transactions takes each call that may have caused one once, not once for each of them', () => {
  const ids = Array.from({ length: 500 }, (_, index) => `Transaction:${index}`);
  let reads = 0;
  const effectOf = (id: string, index: number): PossibleEffect => {
    const effect: PossibleEffect =
      index % 2 === 0
        ? { key: id, on: 'transaction', transactionId: id }
        : { ...TRANSFER, key: id, destinationAccountId: id };
    const counted = { get: (): unknown => ((reads += 1), effect.on), enumerable: true };
    return Object.defineProperty({ ...effect }, 'on', counted);
  };
  const held = heldOf(...ids.map((id) => ({ ...SHOWN, id, destination: { ...SHOWN.destination!, accountId: id } })));
  expect(held.take(look(ids.map(effectOf)))).toEqual([]);
  expect(reads).toBeLessThan(10 * ids.length);
  expect(held.take(look([]))).toHaveLength(ids.length);
});

test.each<[string, (index: number) => PossibleEffect, Partial<Transaction>]>([
  ['transfers between two accounts', (index) => ({ ...TRANSFER, key: `key-${index}` }), {}],
  [
    'transfers to many accounts, of payments that do not show whence',
    (index) => ({ ...TRANSFER, key: `key-${index}`, destinationAccountId: `Internal:${index % 900}` }),
    { source: null },
  ],
  [
    'executions that do not say of which transaction',
    (index) => ({ key: `key-${index}`, on: 'quote', quoteId: `Quote:${index}` }),
    { type: 'OUTGOING' },
  ],
])('a look is short while the %s of six full lanes have no answer', (_name, effectOf, changes) => {
  const effects = Array.from({ length: 6 * 2_000 }, (_, index) => effectOf(index));
  const to = SHOWN.destination;
  const held = heldOf(
    ...Array.from({ length: 900 }, (_, index) => ({
      ...{ ...SHOWN, ...changes, id: `Transaction:${index}` },
      destination: to && 'source' in changes ? { ...to, accountId: `Internal:${index}` } : to,
    })),
  );
  const beganMs = performance.now();
  for (let looks = 0; looks < 3; looks += 1) expect(held.take(look(effects))).toEqual([]);
  // Nothing else has its turn meanwhile, heartbeats neither.
  expect(performance.now() - beganMs).toBeLessThan(1_000);
  expect(held.take(look([]))).toHaveLength(900);
});

describe('what a page showed', () => {
  test('is free once the ledger is read, where no call may have caused it', () => {
    const held = heldOf(SHOWN);
    expect(held.take(look([], { readUpTo: 0 }))).toEqual([]);
    expect(held.take(look([]))).toEqual([observed(SHOWN)]);
    expect(held.size).toBe(0);
  });

  test('waits for the results of the calls that may have, and not for calls that begin later', () => {
    const held = heldOf(SHOWN);
    const other = { ...TRANSFER, key: 'in-2' };
    expect(held.take(look([TRANSFER]))).toEqual([]);
    expect(held.take(look([TRANSFER, other]))).toEqual([]);
    expect(held.take(look([other]))).toEqual([observed(SHOWN)]);
  });

  test.each<[string, PossibleEffect, Partial<Transaction>, Look['stateOf'] | null, boolean]>([
    ['a transfer that makes such a payment', TRANSFER, {}, null, true],
    [
      'a transfer, where the service does not show the accounts',
      TRANSFER,
      { source: null, destination: null },
      null,
      true,
    ],
    ['a transfer from elsewhere', { ...TRANSFER, sourceAccountId: 'External:2' }, {}, null, false],
    ['a transfer to elsewhere', { ...TRANSFER, destinationAccountId: 'Internal:2' }, {}, null, false],
    ['a quote, for an incoming payment', { ...TRANSFER, type: 'OUTGOING' }, {}, null, false],
    ['a transfer, for a payment that is known already', TRANSFER, {}, knownAs({}), false],
    ['a rejection of it', REJECTION, {}, knownAs({}), true],
    ['a rejection of it whose command it names already', REJECTION, {}, knownAs({ commandKeys: ['reject'] }), false],
    ['a rejection of it, where it names another', REJECTION, {}, knownAs({ commandKeys: ['reject', 'other'] }), true],
    ['a rejection of another', { ...REJECTION, transactionId: 'Transaction:2' }, {}, null, false],
    ['the execution of its quote, by its state', EXECUTION, {}, knownAs({ quoteId: 'Quote:1' }), true],
    ['the execution of its quote, as it shows', EXECUTION, { otherFieldsJson: '{"quoteId":"Quote:1"}' }, null, true],
    ['the execution of another quote', EXECUTION, {}, knownAs({ quoteId: 'Quote:2' }), false],
    ['the execution of some quote, for one of which none is known', EXECUTION, { type: 'OUTGOING' }, null, true],
    ['the execution of some quote, for an incoming payment', EXECUTION, {}, null, false],
  ])('waits, or does not, for %s', (_name, effect, changes, stateOf, waits) => {
    const held = heldOf({ ...SHOWN, ...changes });
    held.take(look([effect], { stateOf: stateOf ?? (() => undefined) }));
    expect(held.size).toBe(waits ? 1 : 0);
  });

  test('goes all the same after a time, be the ledger read or not', () => {
    const held = heldOf(SHOWN);
    expect(held.take(look([TRANSFER], { nowMs: MAX_MS - 1, readUpTo: 0 }))).toEqual([]);
    expect(held.take(look([TRANSFER], { nowMs: MAX_MS, readUpTo: 0 }))).toEqual([observed(SHOWN)]);
  });

  test('keeps its order, and asks anew with each view of it', () => {
    const later = { ...SHOWN, status: 'COMPLETED' };
    const held = heldOf(SHOWN);
    held.take(look([TRANSFER]));
    held.add([observed(later)], 2, 5);
    const known = look([REJECTION], { stateOf: knownAs({}) });
    expect(held.take({ ...known, readUpTo: 1 })).toEqual([]);
    expect(held.take(known)).toEqual([]);
    expect(held.firstAddition()).toBe(1);
    expect(held.take(look([]))).toEqual([observed(SHOWN), observed(later)]);
    expect(held.firstAddition()).toBe(Infinity);
  });

  test('is no news once the index shows it', () => {
    const held = heldOf(SHOWN);
    expect(held.has(SHOWN)).toBe(true);
    held.stateChanged({ ...unseenState(ID), status: 'PENDING', updatedAt: SHOWN.updatedAt });
    expect([held.has(SHOWN), held.size]).toEqual([false, 0]);
  });
});

describe('the poller', () => {
  const START_MS = Date.parse('2026-03-01T12:00:00Z');
  const CREATED_MS = START_MS + 7_000;
  const payment = paymentOf(ID, [CREATED_MS, 'PENDING'], [CREATED_MS + 2_000, 'COMPLETED']);
  const service = new SimulatedService([payment], PLAIN_MANNER);
  const made: PossibleEffect = { ...TRANSFER, sourceAccountId: null, destinationAccountId: null };

  function worldWith(effect: PossibleEffect | null, isLedgerRead = true, payments = [payment]): PollerWorld {
    const world = PollerWorld.over(payments, START_MS, { settings: { ...SETTINGS, startMs: START_MS } });
    world.isLedgerRead = isLedgerRead;
    if (effect !== null) world.possibleEffects.push(effect);
    world.start();
    return world;
  }

  /** The command's result, which a killed process had left in doubt. */
  function settle(world: PollerWorld): void {
    world.possibleEffects = [];
    const times = { requestBeganMs: CREATED_MS - 10, requestEndedMs: CREATED_MS + 40 };
    world.commit(answerOf('in', { transaction: service.view(payment, CREATED_MS), ...times }));
  }

  test('tells of a payment after its command did, however long that is in doubt', async () => {
    const world = worldWith(made);
    await world.time.runUntil(CREATED_MS + 40_000);
    expect(world.transactionEvents).toEqual([]);
    settle(world);
    await world.time.runUntil(CREATED_MS + 50_000);
    world.end();
    expect(
      world.transactionEvents.map(({ commandKey, observedBy, status }) => [status, commandKey, observedBy]),
    ).toEqual([
      ['PENDING', 'in', 'COMMAND'],
      ['COMPLETED', 'in', 'POLL'],
    ]);
  });

  test('knows of no call before it has read the ledger, which may take as long as the coordinator of transactions is away', async () => {
    const world = worldWith(null, false);
    await world.time.runUntil(CREATED_MS + 40_000);
    world.possibleEffects.push(made);
    world.isLedgerRead = true;
    await world.time.runUntil(CREATED_MS + 45_000);
    expect(world.transactionEvents).toEqual([]);
    settle(world);
    await world.time.runUntil(CREATED_MS + 55_000);
    world.end();
    expect(world.transactionEvents.map(({ commandKey }) => commandKey)).toEqual(['in', 'in']);
  });

  test('notes an effect for a look-up before it has read the ledger to its end, whichever lane holds that up', async () => {
    const world = worldWith({ key: 'e', on: 'transaction', transactionId: ID }, false);
    await world.time.runUntil(CREATED_MS + 10_000);
    world.end();
    expect(world.transactionEvents).toEqual([]);
    expect(world.committed.map(({ observedBy, transaction }) => [observedBy, transaction?.status])).toEqual([
      ['EFFECT', 'COMPLETED'],
    ]);
  });

  test('tells of it after a minute where brokers do not say where the ledger ends, and at once when they do again', async () => {
    const next = paymentOf('Transaction:2', [CREATED_MS + 80_000, 'PENDING']);
    const world = worldWith(null, true, [payment, next]);
    world.hasLedgerEnds = false;
    await world.time.runUntil(CREATED_MS + 50_000);
    expect(world.transactionEvents).toEqual([]);
    const calls = world.callTimes.length;
    await world.time.runUntil(CREATED_MS + 80_000);
    expect(world.transactionEvents).toHaveLength(1);
    expect(world.callTimes.length).toBeGreaterThan(calls);
    world.hasLedgerEnds = true;
    await world.time.runUntil(CREATED_MS + 95_000);
    world.end();
    expect(world.transactionEvents.map(({ transactionId }) => transactionId)).toContain(next.id);
    expect(world.deaths).toBe(0);
  });

  test('tells of it without its command after a minute, and names that once it is known', async () => {
    const world = worldWith(made);
    await world.time.runUntil(CREATED_MS + 90_000);
    expect(world.transactionEvents.map(({ commandKey, status }) => [status, commandKey])).toEqual([
      ['COMPLETED', null],
    ]);
    settle(world);
    await world.time.runUntil(CREATED_MS + 100_000);
    world.end();
    expect(world.transactionEvents).toHaveLength(1);
  });

  test('does not write that it has read what it still holds: a successor tells of it', async () => {
    const world = worldWith(made);
    await world.time.runUntil(CREATED_MS + 50_000);
    expect(world.record()?.discoveredToMs).toBeLessThan(CREATED_MS);
    settle(world);
    await world.time.runUntil(CREATED_MS + 80_000);
    world.end();
    expect(world.record()?.discoveredToMs).toBeGreaterThanOrEqual(CREATED_MS);
  });
});

test('a thousand that wait for a call without an answer do not stop the poller: the older half goes out', () => {
  const shown = Array.from({ length: 1_000 }, (_, index) => ({ ...SHOWN, id: `Transaction:${index}` }));
  const held = heldOf(...shown);
  expect(held.isFull()).toBe(true);
  expect(held.take(look([TRANSFER], { readUpTo: 0 }))).toEqual([]);
  expect(held.take(look([TRANSFER])).map(({ transaction }) => transaction.id)).toEqual(
    shown.slice(0, 500).map(({ id }) => id),
  );
  expect(held.isFull()).toBe(false);
});
