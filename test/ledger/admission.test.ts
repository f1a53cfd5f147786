/** The outcome of an arriving command whose key is not known. Copies and conflicts: histories, i3-one-result. */
import { describe, expect, test } from 'vitest';
import { admit, newEntry, type Admission, type Arrival } from '../../src/ledger/admission.ts';
import { intentOf } from '../../src/ledger/transitions.ts';
import { aPolicy, entryAt } from './entries.ts';

const policy = aPolicy();
const place = { topic: 'topic', partition: 0, offset: 9n, timestampMs: 0 };
const FIELDS = { quoteId: 'Quote:1', transactionId: null };

function anArrival(changes: Partial<Arrival> = {}): Arrival {
  return {
    key: 'key-1',
    commandType: 'execute-quote',
    fingerprint: 'fingerprint',
    commandId: 'id',
    origin: place,
    place,
    carried: {},
    deadlineMs: 10_000,
    expiresAtMs: null,
    content: { kind: 'valid', fieldsJson: '{"quoteId":"Quote:1"}', fields: FIELDS },
    ...changes,
  };
}

const unreadable = anArrival({ content: { kind: 'unreadable', problem: 'no JSON' } });

function outcomeOf(admission: Admission): string | undefined {
  return 'result' in admission ? admission.result.outcome : undefined;
}

describe('a key that is not known', () => {
  test('is called for, when its command is valid and in time', () => {
    const admission = admit(anArrival(), undefined, 9_999, policy);
    if (admission.kind !== 'call') throw new Error(admission.kind);
    const attempt = { attemptId: 'first', processId: 'process', notBeforeMs: 9_999 };
    expect(intentOf(admission.entry, attempt, policy)).toMatchObject({
      attempts: 0,
      firstSentMs: null,
      phase: { state: 'INTENT', attemptId: 'first', atMs: 9_999, timeoutMs: policy.apiTimeoutMs },
    });
  });

  test('is EXPIRED at its time limit, before anything is sent', () => {
    const admission = admit(anArrival(), undefined, 10_000, policy);
    if (admission.kind !== 'finish') throw new Error(admission.kind);
    expect(admission.result).toMatchObject({ outcome: 'EXPIRED', attempts: 0, settledBy: 'PROCESSOR' });
  });

  test.each([
    [
      "the publisher's, by its header",
      { expiresAtMs: 10_000 },
      /time limit \(expires-at 1970-01-01T00:00:10.000Z\) passed/,
    ],
    [
      'the maximum age, by its setting',
      { expiresAtMs: null },
      /COMMAND_MAX_AGE of [a-z-]+, until 1970-01-01T00:00:10.000Z/,
    ],
    ['the maximum age where that is over first', { expiresAtMs: 60_000 }, /COMMAND_MAX_AGE of/],
    ['an instant beyond all dates', { deadlineMs: -9e15, expiresAtMs: null }, /until -9000000000000000 ms since 1970/],
  ])('is EXPIRED with the limit that it was: %s', (_what, change, message) => {
    const admission = admit(anArrival({ deadlineMs: 10_000, ...change }), undefined, 10_000, policy);
    if (admission.kind !== 'finish') throw new Error(admission.kind);
    expect(admission.result.error).toMatchObject({
      code: 'TOO_OLD',
      message: expect.stringMatching(message) as string,
    });
  });

  test('is INVALID when its fields are wrong or its message cannot be read; the fields of the first are kept', () => {
    const problems = [{ path: 'quoteId', message: 'is required' }];
    const invalid = anArrival({ content: { kind: 'invalid', fieldsJson: '{}', problems } });
    for (const arrival of [invalid, unreadable])
      expect(outcomeOf(admit(arrival, undefined, 0, policy))).toBe('INVALID');
    expect(newEntry(invalid, policy).fieldsJson).toBe('{}');
    expect(newEntry(unreadable, policy).fieldsJson).toBeNull();
  });

  test('keeps in mind that its expires-at could not be read: nobody may have it tried again', () => {
    const problems = [{ path: 'headers.expires-at', message: 'is no instant' }];
    const invalid = anArrival({ content: { kind: 'invalid', fieldsJson: '{}', problems } });
    expect(newEntry(invalid, policy).isExpiryUnreadable).toBe(true);
    expect(newEntry(anArrival(), policy).isExpiryUnreadable).toBe(false);
  });
});

test('other content under a known key is a CONFLICT without a revision; so is what cannot be read, whatever its bytes', () => {
  const known = entryAt('execute-quote');
  for (const arrival of [anArrival({ fingerprint: 'other' }), { ...unreadable, fingerprint: known.fingerprint }])
    expect(admit(arrival, known, 0, policy)).toMatchObject({ result: { outcome: 'CONFLICT', revision: 0 } });
});
