/** Which redrives may be of one payment, where a redriven message was buried again under its new key. Pure. */
import { expect, test } from 'vitest';
import { RedriveFamilies } from '../src/redrive-families.ts';
import type { RedriveNote } from '../src/redrive-note.ts';

/** The letter's offset says which one it is. */
function redriven(letterOffset: bigint, letterKey: string | null, key: string): RedriveNote {
  const place = { partition: 0, offset: letterOffset + 100n, letterContent: letterKey === null ? 'content a' : null };
  const rest = { ...place, because: null, operator: 'dana', timestamp: '' };
  return { ...rest, letterOffset, letterKey, key, id: `${letterOffset} ${key}` };
}

function keysOfOthers(notes: readonly RedriveNote[], offset: bigint, ownKey: string | null): string[] {
  const letter = { place: `0/${offset}`, origin: ownKey ?? 'content a' };
  return new RedriveFamilies(notes).othersOf(letter).map(({ key }) => key);
}

const tooEarly = redriven(1n, 'order', 'order-again');

test('a letter under the new key of an early redrive is the same payment, and that redrive is no reason against it', () => {
  expect(keysOfOthers([tooEarly], 2n, 'order-again')).toEqual([]);
  const original = redriven(1n, 'order', 'order-2');
  expect(keysOfOthers([tooEarly, original], 2n, 'order-again')).toEqual(['order-2']);
});

test('a later letter of the first key names the redrive that was last', () => {
  const last = redriven(2n, 'order-again', 'order-3');
  expect(keysOfOthers([tooEarly, last], 3n, 'order').at(-1)).toBe('order-3');
  // The same for the first letter itself, whose own note is told apart.
  expect(keysOfOthers([tooEarly, last], 1n, 'order')).toEqual(['order-3']);
});

test('a letter without a key is known by its content', () => {
  const notes = [redriven(1n, null, 'made-up'), redriven(1n, null, 'made-up-2')];
  expect(keysOfOthers(notes, 2n, 'made-up')).toEqual(['made-up-2']);
  expect(keysOfOthers(notes, 9n, null)).toEqual(['made-up', 'made-up-2']);
  const another = { place: '0/9', origin: 'content b' };
  expect(new RedriveFamilies(notes).othersOf(another)).toEqual([]);
});

test('letters that no redrive connects are other payments, and keys that name each other end the search', () => {
  expect(keysOfOthers([tooEarly], 4n, 'other')).toEqual([]);
  const circle = [redriven(5n, 'a', 'b'), redriven(6n, 'b', 'a'), redriven(7n, 'c', 'c')];
  expect(keysOfOthers(circle, 7n, 'c')).toEqual([]);
  expect(keysOfOthers(circle, 8n, 'c')).toEqual(['c']);
});

test('the commands from which a message came are named, however the lanes are read; a redrive under its own key ends no way', () => {
  const copy = redriven(4n, 'order-again', 'order-again');
  const notes = [tooEarly, copy, redriven(3n, 'order', 'order-3')];
  for (const read of [notes, notes.toReversed()]) {
    const families = new RedriveFamilies(read);
    const letter = { place: null, origin: 'order-again' };
    expect(families.ancestorsOf(letter)).toEqual(['order']);
    expect(families.othersOf(letter).map(({ key }) => key)).toContain('order-3');
  }
  const keyless = new RedriveFamilies([redriven(1n, null, 'made-up')]);
  expect(keyless.ancestorsOf({ place: null, origin: 'made-up' })).toEqual([]);
});

test('all of several redrives are named, and one of those that say the same', () => {
  const rival = { ...redriven(6n, 'order', 'order-2'), timestamp: 'later' };
  const notes = [redriven(5n, 'order', 'order-2'), redriven(4n, 'order', 'order-3'), rival];
  expect(keysOfOthers(notes, 9n, 'order')).toEqual(['order-2', 'order-3']);
  expect(new RedriveFamilies(notes).othersOf({ place: '0/9', origin: 'order' })).toContain(rival);
});

test('concurrent redrives of connected letters are rivals', () => {
  const [first, second] = [redriven(1n, 'order', 'order-2'), redriven(2n, 'order-again', 'order-3')];
  const families = new RedriveFamilies([tooEarly, first, second]);
  expect(families.areRelated(first, second)).toBe(true);
  expect(families.areRelated(first, redriven(3n, 'other', 'x'))).toBe(false);
});
