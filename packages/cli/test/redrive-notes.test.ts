/** Who was first to redrive a payment, by the notes of all letters as they are read back. Pure. */
import { describe, expect, test } from 'vitest';
import type { RedriveNote } from '../src/redrive-note.ts';
import { RedriveFamilies } from '../src/redrive-families.ts';
import { firstBefore, type LetterClaim } from '../src/redrive-notes.ts';

function note(id: string, given: Partial<RedriveNote> = {}): RedriveNote {
  const place = { partition: 2, offset: 20n, letterOffset: 15n, letterKey: 'order-1', letterContent: null };
  const said = { key: 'order-1-again', because: null, operator: 'dana', timestamp: '2026-01-01T00:00:00.000Z' };
  return { ...place, ...said, id, ...given };
}

function claim(given: Partial<LetterClaim> = {}): LetterClaim & { readonly id: string } {
  const letter = { partition: 2, offset: 15n, key: Buffer.from('order-1') };
  const rest = { key: 'order-1-again', because: null, knownNotes: [] };
  return { letter, ...rest, id: 'mine', ...given };
}

function first(notes: readonly RedriveNote[], of: ReturnType<typeof claim>) {
  return firstBefore(notes, new RedriveFamilies(notes), of);
}

const mine = note('mine');
const sameLetter = note('theirs', { offset: 19n });
const otherLetter = note('theirs', { offset: 19n, letterOffset: 9n });

test('there is no verdict before our own note is there', () => {
  expect(first([sameLetter], claim())).toBe('not-there-yet');
});

describe('another was first', () => {
  test.each([
    ['on the same letter', sameLetter],
    ['on another letter of the key, which may be the same payment', otherLetter],
    ['on one in another lane, of which nothing tells when it was', note('theirs', { partition: 1, offset: 90n })],
    ['on another letter, which was handled otherwise', { ...otherLetter, key: '', because: 'sent again' }],
  ])('%s', (_, theirs) => {
    expect(first([theirs, mine], claim())).toBe(theirs);
    expect(first([mine, theirs], claim())).toBe(theirs);
  });
});

describe('the claim is first', () => {
  test.each([
    ['where the other note follows', { ...otherLetter, offset: 21n }, {}],
    ['where the other note was known and told of', otherLetter, { knownNotes: [otherLetter] }],
    ['where the other letter has another key', { ...otherLetter, letterKey: 'order-2' }, {}],
    ['of another letter, where nothing is paid', otherLetter, { key: '', because: 'sent again' }],
  ])('%s', (_, theirs, given) => {
    expect(first([theirs, mine], claim(given))).toBeNull();
  });

  test('where neither letter has a key', () => {
    const notes = [otherLetter, mine].map((each) => ({ ...each, letterKey: null }));
    expect(first(notes, claim())).toBeNull();
  });
});
