/** What a ledger that was read to its end does not tell. Pure; what it tells is in unknown.test.ts and unfinished.test.ts. */
import { expect, test } from 'vitest';
import { ownerless } from '../src/ledger.ts';

test('a lane without an owner was never opened, or its ledger is lost: that nothing waits there is not known', () => {
  const lanes = [2, 0, 1].map((partition) => ({ partition }));
  expect(ownerless(lanes, new Set([0, 1, 2]))).toEqual([]);
  expect(ownerless(lanes, new Set([1]))).toEqual([
    'the ledger of lanes 0, 2: no processor has opened it yet, or it was lost',
  ]);
});
