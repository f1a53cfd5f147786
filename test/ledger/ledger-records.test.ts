/** Records of the ledger: what an earlier release wrote is read for what it proves, and what is no entry is said to be none. */
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { decodeEntry, encodeEntry, LedgerFormatError } from '../../src/ledger/ledger-records.ts';
import { doneWith, doubtful, entryAt, unknown } from './entries.ts';

const NEW_FIELDS = ['lastEndedMs', 'unexecuted', 'quotesRunOut', 'isExpiryUnreadable'];

/** As the release before wrote it. */
function written(entry: Entry, changes: object = {}): Buffer {
  const plain = JSON.parse(encodeEntry(entry).toString()) as Record<string, unknown>;
  const kept = Object.entries(plain).filter(([name]) => !NEW_FIELDS.includes(name));
  return Buffer.from(JSON.stringify({ ...Object.fromEntries(kept), isProvenUnexecuted: true, ...changes }));
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

  test('of the release before proves nothing that it does not show', () => {
    const entry = decodeEntry(written(doubtful(entryAt('execute-quote'))));
    expect(entry).toMatchObject({ firstSentMs: 500, lastEndedMs: 1_400, unexecuted: null, quotesRunOut: 0 });
    expect(decodeEntry(written(entryAt('transfer-in')))).toMatchObject({ firstSentMs: null, lastEndedMs: null });
  });

  test('of the release before that is UNKNOWN is in doubt, although the call was not noted', () => {
    const origin = { topic: 'topic', partition: 0, offset: 7n, timestampMs: 40 };
    const entry = { ...unknown(entryAt('transfer-in')), origin, firstSentMs: null };
    expect(decodeEntry(written(entry))).toMatchObject({ firstSentMs: 40, lastEndedMs: 2_000, unexecuted: null });
  });

  test('of the release before that an operator decided NOT_EXECUTED is EXPIRED on that word', () => {
    const decided = doneWith({ ...entryAt('transfer-in'), attempts: 1, revision: 2 }, 'EXPIRED');
    const entry = { ...decided, audit: ['NOT_EXECUTED on revision 1 by ada: looked'] };
    expect(decodeEntry(written(entry)).unexecuted).toEqual({ by: 'OPERATOR', attempts: 1, revision: 2 });
  });

  test('of the release before that is INVALID may have had a time limit that could not be read', () => {
    expect(decodeEntry(written(doneWith(entryAt('transfer-in'), 'INVALID'))).isExpiryUnreadable).toBe(true);
  });

  test('keeps a proof that is not of all its attempts for what it is worth', () => {
    // A release before added an attempt, and left the fields alone that it did not know.
    const stale = { unexecuted: { by: 'LOOK_UP', attempts: 1 }, attempts: 2 };
    expect(decodeEntry(written(doubtful(entryAt('execute-quote')), stale))).toMatchObject(stale);
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
