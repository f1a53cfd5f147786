/** What is said of a letter before it is redriven, and what is left out, by what the ledger has of its own key. Pure. */
import { describe, expect, test } from 'vitest';
import { entryAt } from '../../../test/ledger/entries.ts';
import type { Entry } from '../../../src/ledger/entry.ts';
import { RedriveFamilies } from '../src/redrive-families.ts';
import type { RedriveNote } from '../src/redrive-note.ts';
import { readyOf } from '../src/redrive-plan.ts';

const DAY_MS = 24 * 3_600_000;

function plan(
  own: Entry | null | undefined,
  {
    days = 1,
    isBulk = true,
    mayPayTwice = false,
    key = 'order-1',
    ownKey = 'order-1',
    forgotten = [],
    redriven = [],
    place = '2/9',
    earlier,
  }: {
    days?: number;
    isBulk?: boolean;
    mayPayTwice?: boolean;
    key?: string;
    ownKey?: string;
    forgotten?: string[];
    redriven?: readonly RedriveNote[];
    /** The dead letter that was redriven; 2/15 is the one that is planned. */
    place?: string;
    /** The entry of the key `order`. */
    earlier?: Entry | null;
  } = {},
) {
  const headers = { 'dlq-reason': [Buffer.from('SET_ASIDE')], 'dlq-topic': [Buffer.from('commands')] };
  const letterPlace = { topic: 'letters', partition: 2, offset: 15n, timestampMs: Date.now() - days * DAY_MS };
  const letter = { ...letterPlace, key: Buffer.from(ownKey), value: Buffer.from('{}'), headers };
  const entries = new Map<string, Entry | null>(forgotten.map((name) => [name, null]));
  if (own !== undefined) entries.set(ownKey, own);
  if (earlier !== undefined) entries.set('order', earlier);
  const target = { topic: 'commands', key, commandType: 'transfer-in' as const };
  const notes = new Map([[place, redriven]]);
  const options = { key: null, keySuffix: null, headers: new Map(), notes, isBulk, mayPayTwice };
  const ledger = { entries, knownFromMs: [Date.now() - 7 * DAY_MS] };
  const known = { ledger, families: new RedriveFamilies(redriven) };
  return readyOf({ letter, ownKey, target }, known, new Map(), options).notes;
}

function redriveOf(letterKey: string, key = 'order-1'): RedriveNote {
  const place = { partition: 2, letterOffset: 9n, offset: 30n };
  const handled = { because: null, operator: 'dana', timestamp: '2026-01-01T00:00:00.000Z', id: 'note-1' };
  return { ...place, ...handled, letterKey, letterContent: null, key };
}

const UNFLAGGED = { isBulk: false };
const FLAGGED = { isBulk: false, mayPayTwice: true };
const REQUIRES_FLAG = /may be the same payment.*requires --again-may-pay-twice/;

describe('a letter whose own key may have been paid', () => {
  test.each([
    ['and forgotten since', null, 1, 'the ledger has forgotten the command of its own key order-1'],
    ['longer ago than the ledger can tell', undefined, 8, 'the dead letter is older than'],
    ['or is being paid', entryAt('transfer-in'), 1, 'the command of its own key order-1 is not finished'],
  ])('%s is left out of many, and alone requires a flag under another key', (_, own, days, words) => {
    for (const key of ['order-1', 'order-1-again']) expect(() => plan(own, { days, key })).toThrow(words);
    expect(() => plan(own, { days, ...UNFLAGGED, key: 'order-1-again' })).toThrow(REQUIRES_FLAG);
    const notes = plan(own, { days, ...FLAGGED, key: 'order-1-again' });
    expect(notes.at(-1)).toMatch(new RegExp(`^${words}.*it may be the same payment; check with \`show order-1\``));
  });

  test.each(['order 17', 'order-17.execute'])(
    'longer ago than the ledger can tell, by the new key of a letter whose own key %s is none',
    (ownKey) => {
      const of = (days: number) => plan(undefined, { days, ownKey, key: 'order-17', ...UNFLAGGED });
      expect(() => of(8)).toThrow(/such as the new key order-17.*requires --again-may-pay-twice/);
      expect(of(1).at(-1)).toContain('will be a new command');
    },
  );

  test('by another letter of the key is left out of many, and alone requires a flag', () => {
    const redriven = [redriveOf('order-1', 'order-1b')];
    const words =
      /the dead letter 2\/9 of the key order-1 was marked as redriven under order-1b by dana .* may be the same payment/;
    expect(() => plan(undefined, { redriven, key: 'order-1-again' })).toThrow(words);
    expect(() => plan(undefined, { redriven, key: 'order-1-again', ...UNFLAGGED })).toThrow(REQUIRES_FLAG);
    expect(plan(undefined, { redriven, key: 'order-1-again', ...FLAGGED }).at(-1)).toMatch(words);
  });

  test('by redrives at the same time, of which one was published: each of their keys is to be checked', () => {
    const own = [redriveOf('order-1', 'order-1b'), { ...redriveOf('order-1', 'order-1c'), id: 'note-2' }];
    const redriven = own.map((note) => ({ ...note, letterOffset: 15n }));
    expect(() => plan(undefined, { redriven, place: '2/15', key: 'order-1b', ...UNFLAGGED })).toThrow(
      /under order-1b by dana .*, then .*under order-1c by dana .*`show order-1b`, and .*`show order-1c`\. If it is under none of these keys, redrive this one under order-1b again/,
    );
    // Of an acknowledgement and a redrive at the same time, the acknowledgement was first.
    const closed = redriven.map((note, index) => (index === 0 ? { ...note, key: '', because: 'sent again' } : note));
    expect(() => plan(undefined, { redriven: closed, place: '2/15', key: 'order-1d', ...UNFLAGGED })).toThrow(
      /ask dana, and check with `.*show order-1c`\. Publishing it may pay twice/,
    );
  });

  test('by the command of an earlier key is left out of many, and alone requires a flag', () => {
    const expired = { ...entryAt('transfer-in'), phase: { state: 'DONE', outcome: 'EXPIRED' } } as Entry;
    const again = { redriven: [redriveOf('order')], key: 'order-1-again' };
    for (const [earlier, words] of [
      [expired, 'the command of its earlier key order is EXPIRED'],
      [null, 'the ledger has forgotten the command of its earlier key order'],
    ] as const) {
      const known = { ...again, earlier };
      expect(() => plan(undefined, known)).toThrow(words);
      expect(() => plan(undefined, { ...known, ...UNFLAGGED })).toThrow(REQUIRES_FLAG);
      expect(plan(undefined, { ...known, ...FLAGGED }).at(-1)).toContain(words);
    }
    const unread = { ...expired, phase: { state: 'DONE', outcome: 'INVALID' } } as Entry;
    expect(plan(undefined, { ...again, earlier: unread }).at(-1)).toMatch(/does not have the key order-1-again/);
  });

  test('under the new key, which is forgotten since, is left out of many, and alone requires a flag', () => {
    const words = 'the ledger has forgotten the command of the key order-1-again: it may be the same payment';
    const forgotten = { key: 'order-1-again', forgotten: ['order-1-again'] };
    expect(() => plan(undefined, forgotten)).toThrow(words);
    expect(() => plan(undefined, { ...forgotten, ...UNFLAGGED })).toThrow(REQUIRES_FLAG);
    expect(plan(undefined, { ...forgotten, ...FLAGGED }).at(-1)).toContain(words);
  });

  test('requires a flag under its own key, where the ledger would take it for a new one', () => {
    expect(() => plan(null, UNFLAGGED)).toThrow(REQUIRES_FLAG);
    expect(plan(null, FLAGGED).at(-1)).toMatch(/has forgotten .* may be the same payment/);
  });
});

describe('a letter whose own command was set aside before it was read', () => {
  const result = { value: Buffer.alloc(0), headers: {} };
  const failed = { ...entryAt('transfer-in'), phase: { state: 'DONE', outcome: 'FAILED', result, completedMs: 1 } };
  const unread = { ...failed, fieldsJson: null } as Entry;

  test('goes under a new key, also as one of many: nothing was sent of it', () => {
    for (const isBulk of [true, false])
      expect(plan(unread, { key: 'order-1-again', isBulk }).at(-1)).toMatch(
        /^the ledger does not have the key order-1-again/,
      );
  });

  test('is refused under its own key, and nobody is advised to RETRY what was never read', () => {
    expect(() => plan(unread, { isBulk: false })).toThrow(
      /the result FAILED, so this message would be a CONFLICT.*--key/,
    );
  });

  test('where it was read, may be run again', () => {
    expect(() => plan(failed as Entry, { key: 'order-1-again' })).toThrow(/is FAILED.*--decision RETRY/);
    expect(plan(failed as Entry, { isBulk: false }).at(-1)).toContain('--decision RETRY');
  });
});

test('a letter whose own key was not known is a command of its own', () => {
  expect(plan(undefined).at(-1)).toBe('the ledger does not have the key order-1: the message will be a new command');
  expect(plan(undefined, { days: 6, ownKey: 'no key', key: 'order-2' }).at(-1)).toMatch(
    /^the ledger does not have the key order-2/,
  );
});
