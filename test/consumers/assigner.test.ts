/** Who is given which lanes. */
import { expect, test } from 'vitest';
import { assignLanes, type LaneMember } from '../../src/consumers/assigner.ts';

const member = (
  memberId: string,
  lanes: readonly number[],
  { isLeaving = false, isUnserved = false } = {},
): LaneMember => ({ memberId, lanes, isLeaving, isUnserved });
const [LEAVING, UNSERVED] = [{ isLeaving: true }, { isUnserved: true }];

test('lanes stay where they are as far as shares are even', () => {
  const lanesOf = assignLanes([member('a', [0, 1, 2, 3, 4, 5]), member('b', [])], 6);
  expect(Object.fromEntries(lanesOf)).toEqual({ a: [0, 1, 2], b: [3, 4, 5] });
});

test('a member that is about to leave is given nothing, and the others keep what they have', () => {
  const lanesOf = assignLanes([member('a', [0, 1], LEAVING), member('b', [2, 3]), member('c', [4, 5])], 6);
  expect(lanesOf.get('a')).toEqual([]);
  expect(lanesOf.get('b')).toEqual(expect.arrayContaining([2, 3]));
  expect(lanesOf.get('c')).toEqual(expect.arrayContaining([4, 5]));
  expect([...(lanesOf.get('b') ?? []), ...(lanesOf.get('c') ?? [])].sort()).toEqual([0, 1, 2, 3, 4, 5]);
});

test('where all are about to leave, each keeps its lanes', () => {
  const lanesOf = assignLanes([member('a', [0, 1, 2], LEAVING), member('b', [3, 4, 5], LEAVING)], 6);
  expect(Object.fromEntries(lanesOf)).toEqual({ a: [0, 1, 2], b: [3, 4, 5] });
});

test('a member that the service does not serve is given nothing, and the others have its lanes', () => {
  const lanesOf = assignLanes([member('a', [0, 1], UNSERVED), member('b', [2, 3]), member('c', [4, 5])], 6);
  expect(Object.fromEntries(lanesOf)).toEqual({ a: [], b: [0, 2, 3], c: [1, 4, 5] });
});

test('where the service serves none, each keeps its lanes', () => {
  const lanesOf = assignLanes([member('a', [0, 1, 2], UNSERVED), member('b', [3, 4, 5], UNSERVED)], 6);
  expect(Object.fromEntries(lanesOf)).toEqual({ a: [0, 1, 2], b: [3, 4, 5] });
});

test('where the only member that is served is about to leave, the others take over', () => {
  const lanesOf = assignLanes([member('a', [0, 1, 2, 3, 4, 5], LEAVING), member('b', [], UNSERVED)], 6);
  expect(Object.fromEntries(lanesOf)).toEqual({ a: [], b: [0, 1, 2, 3, 4, 5] });
});
