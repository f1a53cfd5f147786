import { expect, test } from 'vitest';
import { orderOf } from '../../src/consumers/hold-intake.ts';
import {
  decodeHolds,
  holdRecords,
  isCarriedOut,
  NO_HOLDS,
  withOrder,
  type HoldOrder,
  type HoldsRecord,
} from '../../src/ledger/holds.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';

function order(action: HoldOrder['action'], ...commandTypes: string[]): HoldOrder {
  return { action, commandTypes, operator: 'ada', reason: 'tried', until: null, at: '2026-01-01T00:00:00Z' };
}

function after(...orders: readonly HoldOrder[]): HoldsRecord {
  return orders.reduce((record, one, offset) => withOrder(record, one, BigInt(offset)), NO_HOLDS);
}

function read(given: HoldOrder): HoldOrder | null {
  return orderOf(Buffer.from(JSON.stringify(given)));
}

test('a hold of types that do not exist is no order: made-up ones fill no ledger, and none is lost when read back', () => {
  expect(read(order('HOLD', 'made-up'))).toBeNull();
  expect(read(order('HOLD', 'transfer-in', '__proto__'))).toBeNull();
  expect(read(order('HOLD', 'transfer-in'))).toEqual(order('HOLD', 'transfer-in'));
  const full = after(order('HOLD'), ...COMMAND_TYPES.map((type) => order('HOLD', type)));
  expect(Object.keys(decodeHolds(holdRecords.encode(full)).holds)).toHaveLength(COMMAND_TYPES.length);
});

test('a release lets types of another release go, by name or with all', () => {
  const foreign = after({ ...order('HOLD'), commandTypes: ['transfer-in', 'of-another-release'] });
  for (const release of [order('RELEASE'), order('RELEASE', 'transfer-in', 'of-another-release')]) {
    expect(read(release)).toEqual(release);
    const record = withOrder(foreign, release, 5n);
    expect(record).toEqual({ offset: '5', holds: {} });
    expect(isCarriedOut(record, release, 5n)).toBe(true);
  }
});

test('a release is confirmed by what is released, not by a later hold; a hold by a later one, too', () => {
  const [hold, release] = [order('HOLD', 'transfer-in'), order('RELEASE', 'transfer-in')];
  const heldAgain = after(hold, release, hold);
  expect(isCarriedOut(after(hold, release), release, 1n)).toBe(true);
  expect(isCarriedOut(heldAgain, release, 1n)).toBe(false);
  expect(isCarriedOut(heldAgain, hold, 0n)).toBe(true);
  expect(isCarriedOut(after(hold, release, order('HOLD', 'create-quote')), release, 1n)).toBe(true);
  expect(isCarriedOut(after(hold, release), hold, 0n)).toBe(false);
});

test('a hold is not confirmed by a later one that ends before it', () => {
  const until = (instant: string | null): HoldOrder => ({ ...order('HOLD', 'transfer-in'), until: instant });
  const [forGood, day, hour] = [until(null), until('2026-01-02T00:00:00Z'), until('2026-01-01T03:00:00+02:00')];
  const isConfirmedBy = (own: HoldOrder, later: HoldOrder): boolean => isCarriedOut(after(own, later), own, 0n);
  expect(isConfirmedBy(forGood, hour)).toBe(false);
  expect(isConfirmedBy(day, hour)).toBe(false);
  expect(isConfirmedBy(day, day)).toBe(true);
  expect(isConfirmedBy(hour, day)).toBe(true);
  expect(isConfirmedBy(hour, forGood)).toBe(true);
});
