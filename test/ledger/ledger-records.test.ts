/** Records of the ledger: what a newer release added is passed over, and what is no entry is said to be none. */
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import {
  decodeEntry,
  decodeOwner,
  decodePosition,
  encodeEntry,
  LedgerFormatError,
  mayBeUnfinished,
  mayBeUnknown,
} from '../../src/ledger/ledger-records.ts';
import { doneWith, doubtful, entryAt } from './entries.ts';

/** As another release wrote it. */
function written(entry: Entry, changes: object = {}): Buffer {
  const plain = JSON.parse(encodeEntry(entry).toString()) as object;
  return Buffer.from(JSON.stringify({ ...plain, ...changes }));
}

describe('an entry', () => {
  test.each([
    ['on its way', entryAt('transfer-in')],
    ['in doubt', doubtful({ ...entryAt('execute-quote'), unexecuted: { by: 'LOOK_UP', attempts: 0 } })],
    [
      'done',
      doneWith(
        { ...entryAt('create-quote'), audit: ['NOT_EXECUTED'], decisionId: 'event-1', copies: [{ commandId: 'a' }] },
        'EXPIRED',
      ),
    ],
  ])('that is %s is read as it was written', (_name, entry) => {
    expect(decodeEntry(encodeEntry(entry))).toEqual(entry);
  });

  test('is unfinished until it has a result, whatever its publisher calls it', () => {
    const done = '"state":"DONE"';
    const named = { key: 'DONE', commandId: 'DONE', carried: { 'correlation-id': 'DONE', tracestate: done } };
    expect(mayBeUnfinished(encodeEntry({ ...entryAt('transfer-in'), ...named }))).toBe(true);
    expect(mayBeUnfinished(encodeEntry({ ...doneWith(entryAt('transfer-in'), 'UNKNOWN'), ...named }))).toBe(false);
  });

  test('may be UNKNOWN where its result is', () => {
    expect(mayBeUnknown(encodeEntry(doneWith(entryAt('transfer-in'), 'UNKNOWN')))).toBe(true);
    expect(mayBeUnknown(encodeEntry(doneWith(entryAt('transfer-in'), 'ACCEPTED')))).toBe(false);
  });

  test('of a newer release is read without the fields that it added, at any depth', () => {
    const entry = doubtful(entryAt('execute-quote'));
    const addedLater = { since: 2 };
    const more = { addedLater, phase: { ...entry.phase, addedLater }, copies: [{ commandId: 'a', addedLater }] };
    expect(decodeEntry(written(entry, more))).toEqual({ ...entry, copies: [{ commandId: 'a' }] });
  });

  test.each([
    ['cut off', Buffer.from('{"v":1,"key":"a')],
    ['null', Buffer.from('null')],
    ['of another format', written(entryAt('transfer-in'), { v: 2 })],
    ['without a phase', written(entryAt('transfer-in'), { phase: undefined })],
    ['with an offset of words', written(entryAt('transfer-in'), { origin: { offset: 'seven' } })],
    ['with fewer than no attempts', written(entryAt('transfer-in'), { attempts: -1 })],
    ['with an outcome that there is not', written(doneWith(entryAt('transfer-in'), 'MAYBE' as 'UNKNOWN'))],
  ])('that is %s is a clear error', (_name, bytes) => {
    expect(() => decodeEntry(bytes)).toThrow(LedgerFormatError);
  });

  test('is named in the error, and nothing of what it holds', () => {
    const bytes = written(entryAt('transfer-in'), { deadlineMs: 'ExternalAccount:of-jane' });
    expect(() => decodeEntry(bytes)).toThrow(/^the ledger record of key-1 is not an entry: deadlineMs$/);
  });
});

test('a record of another format says which release to run', () => {
  expect(() => decodeOwner(Buffer.from('{"v":2,"token":"t"}'))).toThrow(
    'the ledger has a record of format 2, and this release reads format 1: run the release that wrote it',
  );
});

test.each([
  ['an owner without a token', () => decodeOwner(Buffer.from('{"v":1,"processId":"p","atMs":1}')), '!owner'],
  ['a position at no offset', () => decodePosition(Buffer.from('{"v":1,"token":"t","commit":1,"next":{"a":-1}}')), 'a'],
])('%s is a clear error', (_name, read, place) => {
  expect(read).toThrow(place);
});
