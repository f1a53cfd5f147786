/** Due keys are asked in turn, even if each walk ends before all were asked. */
import { expect, test } from 'vitest';
import { DueTurns } from '../../src/lanes/due-turns.ts';

test('walks that end early reach all waiting keys, in turn', () => {
  const due = new Set(['a', 'b', 'c', 'd', 'e']);
  const turns = new DueTurns(due);
  const walk = (): string[] => {
    const asked: string[] = [];
    for (const key of turns.inTurn()) {
      turns.mustWait(key);
      if (asked.push(key) === 2) break;
    }
    return asked;
  };
  expect([walk(), walk(), walk(), walk()]).toEqual([
    ['a', 'b'],
    ['c', 'd'],
    ['e', 'a'],
    ['b', 'c'],
  ]);
});

test('a newly due key comes before all waiting keys', () => {
  const due = new Set(['a', 'b']);
  const turns = new DueTurns(due);
  for (const key of turns.inTurn()) turns.mustWait(key);
  due.add('look-up');
  expect([...turns.inTurn()]).toEqual(['look-up', 'a', 'b']);
});

test('a handled key is forgotten', () => {
  const due = new Set(['a', 'b']);
  const turns = new DueTurns(due);
  turns.mustWait('a');
  due.delete('a');
  expect([...turns.inTurn()]).toEqual(['b']);
  due.add('a');
  turns.mustWait('b');
  expect([...turns.inTurn()]).toEqual(['a', 'b']);
});
