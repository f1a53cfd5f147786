/** Which member of a group gets which partition. Pure. */
import { expect, test } from 'vitest';
import { assignSubscribed } from '../src/kafka/subscribed-assigner.ts';

const partitionsOf = (topic: string, count: number) =>
  Array.from({ length: count }, (_, partition) => ({ topic, partition }));

test('a partition goes to a member that subscribes to its topic, and to one alone', () => {
  const members = [
    { memberId: 'b', topics: ['results'] },
    { memberId: 'a', topics: ['changes'] },
    { memberId: 'c', topics: ['results', 'changes'] },
  ];
  const assigned = assignSubscribed(members, [...partitionsOf('results', 3), ...partitionsOf('changes', 3)]);
  expect(assigned.get('a')?.['results']).toBeUndefined();
  expect(assigned.get('b')?.['changes']).toBeUndefined();
  for (const topic of ['results', 'changes']) {
    expect([...assigned.values()].flatMap((topics) => topics[topic] ?? []).sort()).toEqual([0, 1, 2]);
  }
});

test('members that want the same share evenly, and one that is not needed gets nothing', () => {
  const members = ['a', 'b', 'c', 'd'].map((memberId) => ({ memberId, topics: ['results'] }));
  expect(Object.fromEntries(assignSubscribed(members, partitionsOf('results', 3)))).toEqual({
    ...{ a: { results: [0] }, b: { results: [1] }, c: { results: [2] }, d: {} },
  });
});

test('a topic that nobody subscribes to, whatever its name, is nobody’s', () => {
  const members = [{ memberId: 'a', topics: ['__proto__'] }];
  const assigned = assignSubscribed(members, [...partitionsOf('results', 1), ...partitionsOf('__proto__', 1)]);
  expect(Object.entries(assigned.get('a') ?? {})).toEqual([['__proto__', [0]]]);
});
