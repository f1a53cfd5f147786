/** Forgetting: a key done for longer than the retention gets a tombstone, one that may still matter does not. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Outcome } from 'payment-processor-contract/commands';
import { AdmittedTime } from '../../src/lanes/inputs/admitted-time.ts';
import { Memory } from '../../src/lanes/memory.ts';
import { Retention } from '../../src/lanes/retention.ts';
import type { LaneTransaction } from '../../src/lanes/commits/transaction.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import type { LedgerRecord } from '../../src/store/ledger-index.ts';
import { retentionRecords, keysKnownFromMs, RETENTION_KEY, type KeyRetention } from '../../src/ledger/key-retention.ts';
import { ENTRY_PREFIX, POSITION_KEY, TRANSACTION_PREFIX } from '../../src/ledger/ledger-records.ts';
import { LedgerFormatError } from '../../src/ledger/ledger-value.ts';
import { pollRecords, POLL_KEY } from '../../src/status/poller/record.ts';
import { encodeTransactionState, unseenState, type TransactionState } from '../../src/status/transaction-state.ts';
import { donePhase, entryOf, entryRecord, intentPhase, positionRecord } from '../../proofs/bench/ledger-records.ts';
import { newTransaction } from './lane-in-memory.ts';
import { openIndex, removeDirectory, temporaryDirectory, type OpenIndex } from '../store/index-in-test.ts';

const NOW_MS = 1_000_000;
const OLD_MS = 1_000;
const OWNER = { token: 'token', topicIds: {}, epochs: {} };
const RETENTION = { doneMs: 500_000, transactionMs: 500_000 };

let directory: string;
let opened: OpenIndex;
let clockMs = NOW_MS;
/** Up to when all that was published is in the ledger. */
let admittedMs = Infinity;
const clock = { nowMs: () => clockMs, monotonicMs: () => clockMs };
beforeEach(async () => {
  directory = temporaryDirectory();
  opened = await openIndex(directory);
  clockMs = NOW_MS;
  admittedMs = Infinity;
});
afterEach(async () => {
  await opened.index.close();
  removeDirectory(directory);
});

function done(key: string, completedMs: number, outcome: Outcome = 'ACCEPTED'): Entry {
  const phase = donePhase(key, completedMs);
  return entryOf(key, phase.state === 'DONE' ? { ...phase, outcome } : phase, completedMs);
}

function state(id: string, parts: Partial<TransactionState>): LedgerRecord {
  const value = encodeTransactionState({ ...unseenState(id), ...parts });
  return { key: TRANSACTION_PREFIX + id, value, offset: 0n, timestampMs: 0 };
}

function apply(...records: LedgerRecord[]): void {
  const first = opened.index.checkpoint(0).nextOffset;
  const placed = records.map((record, at) => ({ ...record, offset: first + BigInt(at) }));
  opened.index.applyBatch(0, placed, first + BigInt(records.length));
}
/** @param writtenMs by the broker's clock */
const entry = (of: Entry, writtenMs = 0): LedgerRecord => entryRecord(of, 0n, writtenMs);
/** A commit of the lane, for the time that the broker gives to it. */
const brokerSays = (timeMs: number): void => apply(positionRecord('token', 1, 0n, timeMs));

function retentionOf(memory: Memory): Retention {
  return new Retention({ lane: 0, index: opened.index, clock, retention: RETENTION }, memory, {
    upToMs: () => admittedMs,
  });
}

/** Keys of the tombstones that a transaction writes. */
function tombstonesOf(retention: Retention): string[] {
  return tombstonesIn(gathered(retention));
}
function gathered(retention: Retention): LaneTransaction {
  const transaction = newTransaction();
  retention.gather(transaction);
  return transaction;
}
function tombstonesIn(transaction: LaneTransaction): string[] {
  const { records } = transaction.toCommit(OWNER, new Map());
  return records.filter(({ value }) => value === null).map(({ key }) => String(key));
}

test('entries that are done and transactions at rest are forgotten when they are old; UNKNOWN and open ones never', () => {
  apply(
    entry(done('old', OLD_MS)),
    entry(done('refused', OLD_MS, 'REFUSED')),
    entry(done('young', NOW_MS - 1)),
    entry(done('unknown', OLD_MS, 'UNKNOWN')),
    entry(entryOf('waiting', intentPhase(OLD_MS), OLD_MS)),
    state('completed', { status: 'COMPLETED', seenEndedMs: OLD_MS }),
    state('pending', { status: 'PENDING', seenEndedMs: OLD_MS }),
    state('seen-again', { status: 'COMPLETED', seenEndedMs: NOW_MS - 1 }),
    state('unclear', { status: 'COMPLETED', seenEndedMs: OLD_MS, unclearSinceMs: OLD_MS }),
    state('spare-quote', { quoteStatus: 'PENDING', quoteSeenEndedMs: OLD_MS }),
  );
  brokerSays(NOW_MS);
  const forgotten = tombstonesOf(retentionOf(new Memory(opened.index, 0, 'token')));
  expect(forgotten).toEqual(['c:old', 'c:refused', 't:completed', 't:spare-quote']);
});

test('the state of a transaction is kept for as long as the poller counts on it, whose member may have a longer retention', () => {
  const polled = (forgottenAfterMs: number): LedgerRecord => {
    const none = { startMs: 0, discoveredToMs: 0, unlisted: [], sweep: null, sweptAtMs: null, forgottenToMs: 0 };
    const value = pollRecords.encode({ ...none, forgottenAfterMs });
    return { key: POLL_KEY, value, offset: 0n, timestampMs: 0 };
  };
  apply(state('completed', { status: 'COMPLETED', seenEndedMs: OLD_MS }), polled(NOW_MS));
  brokerSays(NOW_MS);
  expect(tombstonesOf(retentionOf(new Memory(opened.index, 0, 'token')))).toEqual([]);
  apply(polled(RETENTION.transactionMs));
  expect(tombstonesOf(retentionOf(new Memory(opened.index, 0, 'token')))).toEqual(['t:completed']);
});

test('a key is kept while a copy that was published in its time may wait to be admitted', async () => {
  apply(entry(done('paid', OLD_MS)), state('completed', { status: 'COMPLETED', seenEndedMs: OLD_MS }));
  brokerSays(NOW_MS);
  admittedMs = OLD_MS + RETENTION.doneMs;
  expect(tombstonesOf(retentionOf(new Memory(opened.index, 0, 'token')))).toEqual(['t:completed']);
  admittedMs += 1;
  expect(tombstonesOf(retentionOf(new Memory(opened.index, 0, 'token')))).toEqual(['c:paid', 't:completed']);
});

describe('from when the lane knows all keys', () => {
  const DAY_MS = 24 * 3_600_000;
  const isAt = (nowMs: number): void => {
    clockMs = nowMs;
    brokerSays(nowMs);
  };
  const knownAt = (nowMs: number): number => keysKnownFromMs(recorded(), nowMs);

  function recorded(): KeyRetention | null {
    const value = opened.index.value(0, RETENTION_KEY);
    return value === undefined ? null : retentionRecords.decode(value);
  }
  /** The first commit of an owner with this setting. @returns whether it wrote the record */
  function firstCommitWith(days: number): boolean {
    const retention = { doneMs: days * DAY_MS, transactionMs: days * DAY_MS };
    const parts = { lane: 0, index: opened.index, clock, retention };
    const gathering = new Retention(parts, new Memory(opened.index, 0, 'token'), { upToMs: () => admittedMs });
    const idle = newTransaction();
    gathering.gather(idle);
    expect(idle.isEmpty()).toBe(true);
    const written = [newTransaction(), newTransaction()].flatMap((transaction) => {
      transaction.commitAnyway();
      gathering.gather(transaction);
      return transaction.toCommit(OWNER, new Map()).records.filter(({ key }) => key === RETENTION_KEY);
    });
    apply(...written.map(({ value }) => ({ key: RETENTION_KEY, value: value as Buffer, offset: 0n, timestampMs: 0 })));
    expect(written.length).toBeLessThanOrEqual(1);
    return written.length === 1;
  }

  test('is recorded once for each setting, and neither a raised nor a lowered setting makes it earlier', () => {
    const beganMs = 100 * DAY_MS;
    isAt(beganMs);
    expect(firstCommitWith(7)).toBe(true);
    // Nothing is known of what was before: the ledger may have been lost.
    expect(knownAt(beganMs + DAY_MS)).toBe(beganMs);
    expect(knownAt(beganMs + 8 * DAY_MS)).toBe(beganMs + DAY_MS);
    isAt(beganMs + 10 * DAY_MS);
    expect(firstCommitWith(7)).toBe(false);
    expect(firstCommitWith(30)).toBe(true);
    const raisedMs = clockMs;
    expect(knownAt(raisedMs + 20 * DAY_MS)).toBe(raisedMs - 7 * DAY_MS);
    expect(knownAt(raisedMs + 29 * DAY_MS)).toBe(raisedMs - DAY_MS);
    isAt(raisedMs + 40 * DAY_MS);
    expect(firstCommitWith(1)).toBe(true);
    expect(knownAt(clockMs)).toBe(clockMs - DAY_MS);
    expect(firstCommitWith(30)).toBe(true);
    expect(knownAt(clockMs + DAY_MS)).toBe(clockMs - DAY_MS);
  });

  test('counts by the brokers’ clocks, however wrong ours is', () => {
    brokerSays(12 * DAY_MS);
    clockMs = 90 * DAY_MS;
    firstCommitWith(7);
    expect(recorded()?.knownFromMs).toBe(12 * DAY_MS);
  });

  test('is not guessed from a record that this release cannot read: the lane does not open', () => {
    apply({ key: RETENTION_KEY, value: Buffer.from('of another release'), offset: 0n, timestampMs: 0 });
    expect(() => retentionOf(new Memory(opened.index, 0, 'token'))).toThrow(LedgerFormatError);
  });
});

test('all is admitted up to an instant once the lane has committed what was written by then', async () => {
  let positions = new Map([
    ['one', 5n],
    ['two', 7n],
  ]);
  let asked = 0;
  const offsets = {
    written: async (topic: string) => {
      asked += 1;
      return { atMs: NOW_MS, ends: new Map([[0, topic === 'one' ? 5n : 9n]]) };
    },
  };
  const parts = { lane: 0, topics: ['one', 'two'], offsets, positions: () => positions, clock, brokerMs: () => NOW_MS };
  const admitted = new AdmittedTime(parts);
  expect(admitted.upToMs()).toBe(-Infinity);
  await new Promise(setImmediate);
  expect(admitted.upToMs()).toBe(-Infinity);
  positions = new Map([...positions, ['two', 9n]]);
  expect(admitted.upToMs()).toBe(NOW_MS);
  // The next instant is asked for by then, and not before: both topics in one turn.
  expect(asked).toBe(4);
});

test('what the lane has committed since counts, though the index does not show it yet', () => {
  apply(
    entry(done('retried', OLD_MS, 'FAILED')),
    entry(done('done-again', OLD_MS, 'FAILED')),
    state('refunded', { status: 'COMPLETED', seenEndedMs: OLD_MS }),
  );
  brokerSays(NOW_MS);
  const memory = new Memory(opened.index, 0, 'token');
  memory.putEntry(entryOf('retried', intentPhase(NOW_MS), NOW_MS), 1);
  memory.putEntry(done('done-again', NOW_MS), 1);
  memory.putTransaction({ ...unseenState('refunded'), status: 'REFUNDED', seenEndedMs: NOW_MS }, 1);
  expect(tombstonesOf(retentionOf(memory))).toEqual([]);
});

test('a commit of another owner makes a lane forget nothing of its own', () => {
  const memory = new Memory(opened.index, 0, 'token');
  memory.putEntry(done('own', NOW_MS), 1);
  memory.applied('of another owner', 1);
  expect(memory.entry('own')).toBeDefined();
});

test('many are forgotten in bounded numbers, one transaction after the other, until none is left', () => {
  const count = 1_200;
  apply(...Array.from({ length: count }, (_, each) => entry(done(`key-${each}`, OLD_MS + each))));
  brokerSays(NOW_MS);
  const retention = retentionOf(new Memory(opened.index, 0, 'token'));
  const forgotten = new Set<string>();
  for (let look = 0; look < 10; look += 1) {
    const keys = tombstonesOf(retention);
    expect(keys.length).toBeLessThanOrEqual(500);
    apply(...keys.map((key) => ({ key, value: null, offset: 0n, timestampMs: 0 })));
    for (const key of keys) forgotten.add(key.slice(ENTRY_PREFIX.length));
    clockMs += 1_000;
  }
  expect(forgotten.size).toBe(count);
  expect(opened.index.size()).toBe(0);
  expect(opened.index.entry(0, 'key-0')).toBeUndefined();
});

describe('a clock that is wrong by a week, either way, forgets nothing early', () => {
  const WEEK_MS = 7 * 24 * 3_600_000;
  /** When the entry was finished, by a clock that is right. */
  const DONE_MS = 10 * WEEK_MS;
  const YOUNG_MS = DONE_MS + RETENTION.doneMs - 1;
  const DUE_MS = DONE_MS + RETENTION.doneMs + 1;

  test.each([
    ['of the process that retains, fast', { ours: YOUNG_MS + WEEK_MS, broker: YOUNG_MS, completed: DONE_MS }],
    ['of the process that retains, slow', { ours: YOUNG_MS - WEEK_MS, broker: YOUNG_MS, completed: DONE_MS }],
    ['of the process that finished, fast', { ours: YOUNG_MS, broker: YOUNG_MS, completed: DONE_MS + WEEK_MS }],
    ['of the process that finished, slow', { ours: YOUNG_MS, broker: YOUNG_MS, completed: DONE_MS - WEEK_MS }],
    ['of a broker, fast', { ours: YOUNG_MS, broker: YOUNG_MS + WEEK_MS, completed: DONE_MS }],
    ['of a broker, slow', { ours: YOUNG_MS, broker: YOUNG_MS - WEEK_MS, completed: DONE_MS }],
  ])('%s', (_whose, { ours, broker, completed }) => {
    apply(entry(done('young', completed), DONE_MS), state('young', { status: 'COMPLETED', seenEndedMs: completed }));
    apply({ ...state('young', { status: 'COMPLETED', seenEndedMs: completed }), timestampMs: DONE_MS });
    brokerSays(broker);
    clockMs = ours;
    expect(tombstonesOf(retentionOf(new Memory(opened.index, 0, 'token')))).toEqual([]);
  });

  test('of the process that retains, fast, while a copy waits that was published in its time', async () => {
    apply(entry(done('young', DONE_MS), DONE_MS));
    brokerSays(YOUNG_MS);
    clockMs = YOUNG_MS + WEEK_MS;
    let end = 5n;
    const offsets = { written: async () => ({ atMs: clockMs, ends: new Map([[0, end]]) }) };
    const brokerMs = (): number => opened.index.checkpoint(0).timestampMs;
    const parts = { lane: 0, topics: ['one'], offsets, positions: () => new Map([['one', 5n]]), clock, brokerMs };
    const admitted = new AdmittedTime(parts);
    admitted.upToMs();
    await new Promise(setImmediate);
    // From now on a backlog gathers; its first message is the copy.
    end = 6n;
    brokerSays(DUE_MS);
    clockMs = DUE_MS + WEEK_MS;
    const known = { lane: 0, index: opened.index, clock, retention: RETENTION };
    const retention = new Retention(known, new Memory(opened.index, 0, 'token'), admitted);
    expect(tombstonesOf(retention)).toEqual([]);
  });

  test('an idle lane commits its position alone to hear of the broker’s time, once for each look', () => {
    apply(entry(done('due', DONE_MS), DONE_MS));
    const retention = retentionOf(new Memory(opened.index, 0, 'token'));
    clockMs = YOUNG_MS;
    expect(gathered(retention).isEmpty()).toBe(true);
    clockMs = DUE_MS + 60_000;
    const asking = gathered(retention);
    expect(asking.isEmpty()).toBe(false);
    expect(asking.toCommit(OWNER, new Map()).records.map(({ key }) => key)).toEqual([RETENTION_KEY, POSITION_KEY]);
    expect(gathered(retention).isEmpty()).toBe(true);
    brokerSays(DUE_MS + 60_000);
    clockMs += 60_000;
    expect(tombstonesOf(retention)).toEqual(['c:due']);
  });
});
