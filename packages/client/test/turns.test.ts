/** So many at once, in the order of asking; who gives up takes no turn. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Turns } from '../src/turns.ts';

function started(turns: Turns, names: readonly string[]) {
  const begun: string[] = [];
  const signals = new Map(names.map((name) => [name, new AbortController()]));
  for (const name of names)
    void turns.begin(signals.get(name)!.signal).then((isTurn) => begun.push(isTurn ? name : `not ${name}`));
  return { begun, abort: (name: string) => signals.get(name)?.abort() };
}

test('begins so many, and the others in turn', async () => {
  const turns = new Turns(2);
  const { begun } = started(turns, ['a', 'b', 'c', 'd']);
  await turn();
  expect(begun).toEqual(['a', 'b']);
  turns.end();
  await turn();
  turns.end();
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

test('two that end at once make room for two', async () => {
  const turns = new Turns(2);
  const { begun } = started(turns, ['a', 'b', 'c', 'd']);
  await turn();
  turns.end();
  turns.end();
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

test('a turn whose owner gives up, even when it is woken, is the next one’s', async () => {
  const turns = new Turns(1);
  const { abort, begun } = started(turns, ['a', 'b', 'c', 'd']);
  await turn();
  abort('b');
  await turn();
  expect(begun).toEqual(['a', 'not b']);
  turns.end();
  abort('c');
  await turn();
  expect(begun).toEqual(['a', 'not b', 'not c', 'd']);
});
