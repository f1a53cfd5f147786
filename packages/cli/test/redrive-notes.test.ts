/** Notes of redrives: which letters they make one payment, who was first by them, and what is said if not all can be written. Pure. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { PublishError, RecordPublisher } from 'payment-processor-client/internal/kafka/record-publisher';
import type { CliSettings } from '../src/context.ts';
import { RedriveFamilies } from '../src/redrive-families.ts';
import type { RedriveNote } from '../src/redrive-note.ts';
import { claimLetters, firstBefore, type LetterClaim } from '../src/redrive-notes.ts';

function note(given: Partial<RedriveNote>): RedriveNote {
  const place = { partition: 2, offset: 20n, letterOffset: 15n, letterKey: 'order-1', letterContent: null };
  const said = { key: 'order-1-again', because: null, operator: 'dana', timestamp: '2026-01-01T00:00:00.000Z' };
  return { ...place, ...said, id: 'mine', ...given };
}

describe('a redriven message that is buried again under its new key', () => {
  /** The letter's offset says which one it is. */
  const redriven = (letterOffset: bigint, letterKey: string | null, key: string): RedriveNote => {
    const letterContent = letterKey === null ? 'content a' : null;
    return note({ letterOffset, letterKey, letterContent, key, id: `${letterOffset} ${key}` });
  };
  const othersOf = (notes: readonly RedriveNote[], offset: bigint, origin: string): RedriveNote[] =>
    new RedriveFamilies(notes).othersOf({ place: `2/${offset}`, origin });
  const tooEarly = redriven(1n, 'order', 'order-again');
  const last = redriven(2n, 'order-again', 'order-3');
  const keyless = [redriven(1n, null, 'made-up'), redriven(1n, null, 'made-up-2')];
  const circle = [redriven(5n, 'a', 'b'), redriven(6n, 'b', 'a'), redriven(7n, 'c', 'c')];

  test.each<[string, readonly RedriveNote[], bigint, string, string[]]>([
    ['is the same payment, and that redrive is no reason against it', [tooEarly], 2n, 'order-again', []],
    ['names other redrives', [tooEarly, redriven(1n, 'order', 'order-2')], 2n, 'order-again', ['order-2']],
    ['is named to a later letter of the first key', [tooEarly, last], 3n, 'order', ['order-again', 'order-3']],
    ['is named to the first letter, whose own note is told apart', [tooEarly, last], 1n, 'order', ['order-3']],
    ['had no key: it is known by its content', keyless, 2n, 'made-up', ['made-up-2']],
    ['had no key, and is sent again as it was', keyless, 9n, 'content a', ['made-up', 'made-up-2']],
    ['is not one of other content', keyless, 9n, 'content b', []],
    ['is not one that no redrive connects with it', [tooEarly], 4n, 'other', []],
    ['has keys that name each other, which ends the search', circle, 7n, 'c', []],
    ['has one that names itself', circle, 8n, 'c', ['c']],
  ])('%s', (_, notes, offset, origin, keys) => {
    expect(othersOf(notes, offset, origin).map(({ key }) => key)).toEqual(keys);
  });

  test('the commands from which it came are named, however the lanes are read; a redrive under its own key ends no way', () => {
    const copy = redriven(4n, 'order-again', 'order-again');
    const notes = [tooEarly, copy, redriven(3n, 'order', 'order-3')];
    const letter = { place: null, origin: 'order-again' };
    for (const read of [notes, notes.toReversed()]) {
      const families = new RedriveFamilies(read);
      expect(families.ancestorsOf(letter)).toEqual(['order']);
      expect(families.othersOf(letter).map(({ key }) => key)).toContain('order-3');
    }
    expect(new RedriveFamilies(keyless).ancestorsOf({ place: null, origin: 'made-up' })).toEqual([]);
  });

  test('all of several redrives are named, and one of those that say the same', () => {
    const rival = { ...redriven(6n, 'order', 'order-2'), timestamp: 'later' };
    const others = othersOf([redriven(5n, 'order', 'order-2'), redriven(4n, 'order', 'order-3'), rival], 9n, 'order');
    expect(others.map(({ key }) => key)).toEqual(['order-2', 'order-3']);
    expect(others).toContain(rival);
  });

  test('concurrent redrives of connected letters are rivals', () => {
    const first = redriven(1n, 'order', 'order-2');
    const families = new RedriveFamilies([tooEarly, first, last]);
    expect(families.areRelated(first, last)).toBe(true);
    expect(families.areRelated(first, redriven(3n, 'other', 'x'))).toBe(false);
  });
});

describe('who was first', () => {
  const first = (notes: readonly RedriveNote[], given: Partial<LetterClaim> = {}) => {
    const letter = { partition: 2, offset: 15n, key: Buffer.from('order-1') };
    const claim = { letter, key: 'order-1-again', because: null, knownNotes: [], id: 'mine', ...given };
    return firstBefore(notes, new RedriveFamilies(notes), claim);
  };
  const mine = note({});
  const sameLetter = note({ id: 'theirs', offset: 19n });
  const otherLetter = { ...sameLetter, letterOffset: 9n };

  test('is not known before our own note is there', () => {
    expect(first([sameLetter])).toBe('not-there-yet');
  });

  test.each([
    ['on the same letter', sameLetter],
    ['on another letter of the key, which may be the same payment', otherLetter],
    ['on one in another lane, of which nothing tells when it was', { ...sameLetter, partition: 1, offset: 90n }],
    ['on another letter, which was handled otherwise', { ...otherLetter, key: '', because: 'sent again' }],
  ])('was another, %s', (_, theirs) => {
    expect(first([theirs, mine])).toBe(theirs);
    expect(first([mine, theirs])).toBe(theirs);
  });

  test.each([
    ['where the other note follows', { ...otherLetter, offset: 21n }, {}],
    ['where the other note was known and told of', otherLetter, { knownNotes: [otherLetter] }],
    ['where the other letter has another key', { ...otherLetter, letterKey: 'order-2' }, {}],
    ['of another letter, where nothing is paid', otherLetter, { key: '', because: 'sent again' }],
  ])('is the claim itself, %s', (_, theirs, given) => {
    expect(first([theirs, mine], given)).toBeNull();
  });

  test('is the claim itself, where neither letter has a key', () => {
    expect(first([otherLetter, mine].map((each) => ({ ...each, letterKey: null })))).toBeNull();
  });
});

describe('several dead letters, of which only some can be marked', () => {
  const settings = { TOPIC_PREFIX: 'none', KAFKA_BROKERS: ['127.0.0.1:1'] } as unknown as CliSettings;
  afterEach(() => vi.restoreAllMocks());

  test.each([
    ['NOT_CONFIRMED', 'noResult', '(cut off). Marked: 2/0, 2/1. Perhaps marked: 2/2. Not marked: 2/3'],
    ['NOT_WRITTEN', 'failed', '(x). Marked: 2/0, 2/1. Not marked: 2/2, 2/3'],
  ] as const)('a mark that is %s ends with the exit code of %s', async (problem, reason, which) => {
    const publish = vi.fn<RecordPublisher['publish']>();
    publish.mockResolvedValueOnce({ partition: 2, offset: 8n }).mockResolvedValueOnce({ partition: 2, offset: 8n });
    publish.mockRejectedValue(new PublishError(problem, 'x', new Error('cut off')));
    const publisher = { publish, close: async () => undefined } as unknown as RecordPublisher;
    vi.spyOn(RecordPublisher, 'connect').mockResolvedValue(publisher);
    const claims = [0n, 1n, 2n, 3n].map((offset) => {
      return { letter: { partition: 2, offset, key: null }, key: '', because: 'x', knownNotes: [] };
    });
    const message = `not all dead letters are marked ${which}`;
    await expect(claimLetters(settings, 'ada', claims)).rejects.toMatchObject({ reason, message });
    expect(publish).toHaveBeenCalledTimes(3);
  });
});
