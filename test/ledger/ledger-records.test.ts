/** Records of the ledger: additions of a newer release are passed over, and a record that is no entry is reported as none. */
import { describe, expect, test } from 'vitest';
import { decodeEntry, encodeEntry } from '../../src/ledger/entry-record.ts';
import { decodeHolds, holdRecords } from '../../src/ledger/holds.ts';
import {
  decodeClaim,
  ownerRecords,
  positionRecords,
  suspectRecords,
  encodeClaim,
  isOwnerRecordOf,
} from '../../src/ledger/ledger-records.ts';
import {
  headOf,
  LedgerFormatError,
  learnSchema,
  mayBeUnfinished,
  mayBeUnknown,
  UnknownSchemaError,
  VALUE_CLASS,
} from '../../src/ledger/ledger-value.ts';
import { doneWith, doubtful, entryAt } from './entries.ts';
import { otherRelease } from './other-release.ts';

const entry = entryAt('transfer-in');
const done = doneWith(entry, 'ACCEPTED');

/** As a release writes it that has more classes. */
function ofLaterClass(value: Buffer): Buffer {
  const later = Buffer.from(value);
  later.writeUInt8(7, 1);
  return later;
}

describe('an entry', () => {
  test.each([
    ['on its way', entry],
    ['in doubt', doubtful({ ...entryAt('execute-quote'), unexecuted: { by: 'LOOK_UP', attempts: 0 } })],
    ['in doubt by an operator', doubtful({ ...entry, unexecuted: { by: 'OPERATOR', attempts: 1, revision: 2 } })],
    ['parked', { ...entry, phase: { state: 'PARKED', untilMs: 1.5, reason: 'told to wait' } as const }],
    ['quoted', { ...entry, carried: { tracestate: 'a=1' }, phase: { state: 'QUOTED' } as const }],
    ['done', { ...done, audit: ['NOT_EXECUTED'], decisionId: 'event-1', copies: [{ commandId: 'a' }] }],
  ])('that is %s is read as it was written', (_name, written) => {
    expect(decodeEntry(encodeEntry(written))).toEqual(written);
  });

  test('says without being decoded whether it is finished, since when, and whether it may be forgotten', () => {
    const named = { key: 'DONE', commandId: 'DONE', carried: { tracestate: '"state":"DONE"' } };
    expect(headOf(encodeEntry({ ...entry, ...named }))).toEqual({ valueClass: VALUE_CLASS.unfinished, timeMs: 0 });
    const { completedMs } = done.phase as { completedMs: number };
    expect(headOf(encodeEntry(done))).toEqual({ valueClass: VALUE_CLASS.done, timeMs: completedMs });
    const unknown = encodeEntry({ ...doneWith(entry, 'UNKNOWN'), ...named });
    expect(headOf(unknown).valueClass).toBe(VALUE_CLASS.unknown['transfer-in']);
    const values = [encodeEntry(entry), encodeEntry(done), unknown, ofLaterClass(unknown)];
    expect(values.map(mayBeUnfinished)).toEqual([true, false, false, true]);
    expect(values.map(mayBeUnknown)).toEqual([false, false, true, true]);
  });

  test('of a newer release is read without the field that it added', () => {
    const newer = otherRelease('LedgerEntry', ({ fields }) => {
      fields.splice(3, 0, { name: 'addedLater', type: ['null', 'string'] });
    });
    const value = newer.written(encodeEntry(done), { addedLater: 'since 2' });
    expect(() => decodeEntry(value)).toThrow(UnknownSchemaError);
    learnSchema(newer.schema.value);
    expect(decodeEntry(value)).toEqual(done);
  });

  test('of an earlier release gets the default of what that did not have', () => {
    const earlier = otherRelease('LedgerEntry', (schema) => {
      schema.fields = schema.fields.filter(({ name }) => name !== 'decisionId');
    });
    learnSchema(earlier.schema.value);
    expect(decodeEntry(earlier.written(encodeEntry(done)))).toEqual({ ...done, decisionId: null });
  });

  test('by a schema that does not fit ours says which release to run', () => {
    const foreign = otherRelease('LedgerEntry', (schema) => {
      schema.fields = schema.fields.filter(({ name }) => name !== 'attempts');
    });
    learnSchema(foreign.schema.value);
    expect(() => decodeEntry(foreign.written(encodeEntry(done)))).toThrow(
      /does not fit.*run the release that wrote it/,
    );
  });

  const changed = (change: (value: Buffer) => void): Buffer => {
    const value = encodeEntry(entry);
    change(value);
    return value;
  };
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['cut off within its head', encodeEntry(entry).subarray(0, 9)],
    ['a head alone', encodeEntry(entry).subarray(0, 16)],
    ['cut off', encodeEntry(entry).subarray(0, 40)],
    ['longer than it is', Buffer.concat([encodeEntry(entry), Buffer.of(0)])],
    ['of another format', changed((value) => value.writeUInt8(3, 0))],
    ['of another schema', changed((value) => value.writeUInt8(value.readUInt8(8) ^ 1, 8))],
    ['with an outcome that there is not', encodeEntry(doneWith(entry, 'MAYBE' as 'UNKNOWN'))],
    ['of a command that there is not', encodeEntry({ ...entry, commandType: 'refund' as 'transfer-in' })],
    ['at a step that there is not', encodeEntry({ ...entry, step: 'LAST' as 'SINGLE' })],
  ])('that is %s is a clear error, and the store keeps it', (_name, value) => {
    expect(() => decodeEntry(value)).toThrow(LedgerFormatError);
    expect(() => headOf(value)).not.toThrow();
  });

  test('in a phase that this release does not know is a clear error, which says nothing of what the entry holds', () => {
    const later = otherRelease('LedgerEntry', ({ fields }) => {
      fields.push({ name: 'paused', type: ['null', 'string'] });
    });
    learnSchema(later.schema.value);
    const value = later.written(encodeEntry(entry), { intent: null, paused: 'ExternalAccount:of-jane' });
    expect(() => decodeEntry(value)).toThrow(/^the ledger record of key-1 has a field .*: phase\. Run the release/);
  });
});

describe('a ledger of JSON', () => {
  const json = Buffer.from('{"v":1,"token":"t"}');

  test('is refused, and the message says what to do', () => {
    for (const read of [headOf, decodeEntry, (bytes: Buffer) => ownerRecords.decode(bytes)])
      expect(() => read(json)).toThrow(/JSON format of builds before 1\.0\.0.*another TOPIC_PREFIX/);
    expect([mayBeUnfinished(json), mayBeUnknown(json)]).toEqual([true, true]);
  });
});

test('a record of another format says which release to run', () => {
  expect(() => ownerRecords.decode(Buffer.concat([Buffer.of(3), Buffer.alloc(30)]))).toThrow(
    'the ledger has a record of format 3, and this release reads format 2: run the release that wrote it',
  );
});

test('the records of a lane are read as they were written', () => {
  const ids = { token: 'token-1', processId: 'process-1', transactionalId: 'id-1' };
  const owner = { ...ids, atMs: 1.5, barren: 1, fencedCallUntilMs: 7, laneCount: 1 };
  expect(ownerRecords.decode(ownerRecords.encode(owner))).toEqual(owner);
  expect(isOwnerRecordOf(ownerRecords.encode(owner), 'token-1')).toBe(true);
  expect(isOwnerRecordOf(ownerRecords.encode(owner), 'token-2')).toBe(false);
  expect(isOwnerRecordOf(Buffer.from('of another release'), 'token-1')).toBe(false);
  const { processId, token, transactionalId } = owner;
  const claim = { token, processId, transactionalId, isFenced: true, releaseWithinMs: 28_000 };
  expect(decodeClaim('!claim:id-1', encodeClaim(claim))).toEqual(claim);
  expect(headOf(encodeClaim(claim)).valueClass).toBe(VALUE_CLASS.claim);
  const position = {
    token,
    commit: 2 ** 40,
    next: { a: 2n ** 60n, b: 0n },
    topicIds: { a: 'id' },
    epochs: { a: [{ epoch: 3, end: 2n ** 60n }] },
  };
  expect(positionRecords.decode(positionRecords.encode(position))).toEqual(position);
  expect(suspectRecords.decode(suspectRecords.encode({ message: null }))).toEqual({ message: null });
  const suspect = { topic: 'a', offset: 2n ** 60n, tries: 2 };
  expect(suspectRecords.decode(suspectRecords.encode({ message: suspect }))).toEqual({ message: suspect });
  const hold = { offset: '7', operator: 'jane', reason: 'audit', until: null, at: '2026-01-01T00:00:00Z' };
  const holds = { offset: '7', holds: { 'transfer-in': hold } };
  expect(decodeHolds(holdRecords.encode(holds))).toEqual(holds);
});
