/**
 * Rolling upgrades: this release reads what processes of earlier ones wrote, and they read what it writes. Of the readers
 * of earlier releases their own rules are kept, as JSON Schema: the code of a year is more than a fixture should hold.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Entry } from '../../src/ledger/entry.ts';
import {
  decodeEntry,
  decodeOwner,
  decodePosition,
  encodeEntry,
  encodeOwner,
  encodePosition,
  ENTRY_PREFIX,
  OWNER_KEY,
  POSITION_KEY,
  TRANSACTION_PREFIX,
} from '../../src/ledger/ledger-records.ts';
import { decodePollRecord, encodePollRecord, POLL_KEY } from '../../src/status/poller/record.ts';
import { decodeTransactionState, encodeTransactionState, showsEffect } from '../../src/status/transaction-state.ts';
import { doneWith, doubtful, entryAt } from './entries.ts';
import { BEFORE_ADDED_FIELDS, BEFORE_TURNED_AWAY, valueOf, type LedgerFixture } from './fixtures/fixtures.ts';

const FIXTURES = [BEFORE_ADDED_FIELDS, BEFORE_TURNED_AWAY];

const LOOKED_AT_BELOW = ['firstSentMs', 'lastEndedMs', 'isProvenUnexecuted'];

type Plain = Record<string, unknown>;
const plainOf = (bytes: Buffer): Plain => JSON.parse(bytes.toString()) as Plain;

function entriesOf({ records }: LedgerFixture): [string, Entry][] {
  const keys = Object.keys(records).filter((key) => key.startsWith(ENTRY_PREFIX));
  return keys.map((key) => [key.slice(ENTRY_PREFIX.length), decodeEntry(Buffer.from(records[key] ?? ''))]);
}

function entryOf(fixture: LedgerFixture, key: string): Entry {
  return decodeEntry(valueOf(fixture, ENTRY_PREFIX + key));
}

describe.each(FIXTURES)('$release', (fixture) => {
  test('wrote an entry in every phase', () => {
    const states = entriesOf(fixture).map(([, { phase }]) => phase.state);
    expect(new Set(states)).toEqual(new Set(['INTENT', 'PARKED', 'DOUBTFUL', 'QUOTED', 'DONE']));
  });

  test('wrote entries that say now what they said', () => {
    for (const [key, entry] of entriesOf(fixture)) {
      const written = Object.entries(plainOf(valueOf(fixture, ENTRY_PREFIX + key)));
      const kept = written.filter(([name]) => !LOOKED_AT_BELOW.includes(name));
      expect(plainOf(encodeEntry(entry)), key).toMatchObject(Object.fromEntries(kept));
    }
  });

  test('did not count calls that were turned away: each that was made may have been', () => {
    const counted = ['parked', 'doubtful', 'quoted', 'intent-of-execution'].map(
      (key) => entryOf(fixture, key).turnedAway,
    );
    expect(counted).toEqual([1, 1, 0, 0]);
  });

  test('named no transactional id of an owner', () => {
    expect(decodeOwner(valueOf(fixture, OWNER_KEY))).toMatchObject({ transactionalId: null, barren: 0 });
  });

  test('wrote positions, transaction states and a record of the poller that are read whole', () => {
    const position = decodePosition(valueOf(fixture, POSITION_KEY));
    expect(position.next[`${fixture.topicPrefix}.commands.transfer-in.v1`]).toBe(3n);
    const states = Object.entries(fixture.records).filter(([key]) => key.startsWith(TRANSACTION_PREFIX));
    expect(states.length).toBeGreaterThan(1);
    for (const [, value] of states) {
      const old = JSON.parse(value) as Record<string, unknown>;
      const state = decodeTransactionState(Buffer.from(value));
      expect(plainOf(encodeTransactionState(state))).toMatchObject(old);
      expect(state.effectStatus).toBe(showsEffect(String(old['status'])) ? old['status'] : null);
    }
    expect(decodePollRecord(valueOf(fixture, POLL_KEY)).catchUp).toBeNull();
  });

  test('takes every entry that this release writes for one', () => {
    const reads = z.fromJSONSchema(fixture.readsEntries);
    const quoted = { ...entryOf(fixture, 'quoted').quoted, receivedMs: 1, receivingAmount: '5' } as Entry['quoted'];
    const written: Entry[] = [
      ...entriesOf(fixture).map(([, entry]) => entry),
      doubtful({ ...entryAt('execute-quote'), unexecuted: { by: 'LOOK_UP', attempts: 1 } }),
      doneWith({ ...entryAt('create-quote'), step: 'EXECUTE', quoted, copies: [{ commandId: 'a' }] }, 'EXPIRED'),
    ];
    for (const entry of written) {
      const plain = plainOf(encodeEntry(entry));
      expect(reads.safeParse(plain).error?.issues ?? [], entry.key).toEqual([]);
    }
    expect(reads.safeParse({ ...plainOf(encodeEntry(doubtful(entryAt('transfer-in')))), waits: 'two' }).success).toBe(
      false,
    );
  });

  test('finds every field that it wrote in the other records that this release writes', () => {
    const stateKey = Object.keys(fixture.records).find((key) => key.startsWith(TRANSACTION_PREFIX)) ?? '';
    const written: [string, Buffer][] = [
      [OWNER_KEY, encodeOwner(decodeOwner(valueOf(fixture, OWNER_KEY)))],
      [POSITION_KEY, encodePosition(decodePosition(valueOf(fixture, POSITION_KEY)))],
      [POLL_KEY, encodePollRecord(decodePollRecord(valueOf(fixture, POLL_KEY)))],
      [stateKey, encodeTransactionState(decodeTransactionState(valueOf(fixture, stateKey)))],
    ];
    for (const [key, value] of written) expect(plainOf(value), key).toMatchObject(plainOf(valueOf(fixture, key)));
  });

  test('is not in the way of fields that a newer release adds, at any depth', () => {
    for (const [key, entry] of entriesOf(fixture)) {
      expect(decodeEntry(withMore(valueOf(fixture, ENTRY_PREFIX + key))), key).toEqual(entry);
    }
    expect(decodeOwner(withMore(valueOf(fixture, OWNER_KEY)))).toEqual(decodeOwner(valueOf(fixture, OWNER_KEY)));
  });
});

describe('an entry of a release that noted neither ends of calls nor proofs', () => {
  const fixture = BEFORE_ADDED_FIELDS;

  test('has an end of the call in doubt that is late enough', () => {
    const { firstSentMs, lastEndedMs, phase } = entryOf(fixture, 'doubtful');
    expect(firstSentMs).toBe(plainOf(valueOf(fixture, 'c:doubtful'))['firstSentMs']);
    expect(phase).toMatchObject({ state: 'DOUBTFUL', settleAtMs: lastEndedMs });
  });

  test('is in doubt when it is UNKNOWN, though no call was noted', () => {
    const { firstSentMs, lastEndedMs, origin, phase } = entryOf(fixture, 'unknown');
    expect(plainOf(valueOf(fixture, 'c:unknown'))['firstSentMs']).toBeNull();
    expect(firstSentMs).toBe(origin.timestampMs);
    expect(phase).toMatchObject({ outcome: 'UNKNOWN', completedMs: lastEndedMs });
  });

  test('proves nothing, counts nothing, and has no doubt where there was none', () => {
    const added = { unexecuted: null, quotesRunOut: 0, isExpiryUnreadable: false };
    for (const [key, entry] of entriesOf(fixture)) {
      expect(entry, key).toMatchObject(added);
      if (key !== 'doubtful' && key !== 'unknown')
        expect(entry, key).toMatchObject({ firstSentMs: null, lastEndedMs: null });
    }
  });

  test('does not know what its quote was about, nor when that came', () => {
    const unknown = { sourceAccountId: null, destinationAccountId: null, receivingAmount: null };
    expect(entryOf(fixture, 'quoted').quoted).toMatchObject({
      ...unknown,
      receivingCurrencyCode: null,
      receivedMs: null,
    });
  });

  test('has a position without ids of topics', () => {
    expect(decodePosition(valueOf(fixture, POSITION_KEY)).topicIds).toEqual({});
  });
});

test.each([
  ['an owner without a token', () => decodeOwner(Buffer.from('{"v":1,"processId":"p","atMs":1}')), '!owner'],
  ['a position at no offset', () => decodePosition(Buffer.from('{"v":1,"token":"t","commit":1,"next":{"a":-1}}')), 'a'],
])('%s is a clear error', (_name, read, place) => {
  expect(read).toThrow(place);
});

/** Each object with a field that nobody knows yet. */
function withMore(value: Buffer): Buffer {
  const more = (plain: unknown): unknown => {
    if (Array.isArray(plain)) return plain.map(more);
    if (typeof plain !== 'object' || plain === null) return plain;
    const fields = Object.entries(plain).map(
      ([name, field]) => [name, name === 'headers' ? field : more(field)] as const,
    );
    return { ...Object.fromEntries(fields), addedLater: { since: 2 } };
  };
  return Buffer.from(JSON.stringify(more(plainOf(value))));
}
