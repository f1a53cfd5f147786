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

test('a key that became due later, and had to wait, does not overtake those that have waited for longer', () => {
  const due = new Set<string>();
  const turns = new DueTurns(due);
  const served: string[] = [];
  const walk = (slots: number): void => {
    let left = slots;
    for (const key of turns.inTurn()) {
      if (left === 0) turns.mustWait(key);
      else {
        left -= 1;
        due.delete(key);
        served.push(key);
      }
    }
  };
  for (let index = 0; index < 10; index += 1) due.add(`old-${index}`);
  walk(0);
  for (let index = 0; index < 20; index += 1) {
    due.add(`new-${index}`);
    walk(0);
    // A slot was kept for the lane.
    walk(1);
  }
  expect(served.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, index) => `old-${index}`));
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
