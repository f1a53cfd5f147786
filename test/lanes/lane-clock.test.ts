/** The clock of a lane's owner is set while commands are in doubt: no doubt is settled before its time (invariant I2). */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { commandFingerprint } from 'payment-processor-contract/command-fields';
import type { Reading } from '../../src/api/types.ts';
import { Calls, type CallsOptions } from '../../src/lanes/calls/calls.ts';
import { CommitReports } from '../../src/lanes/commits/commit-reports.ts';
import { Inputs } from '../../src/lanes/inputs/inputs.ts';
import { OpenLane } from '../../src/lanes/open-lane.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { aPolicy, entryAt } from '../ledger/entries.ts';
import { HOUR_MS, offer, partsWith, silence, topics, writing } from './lane-in-memory.ts';

const SETTLING_MS = 10_000;
const TIMEOUT_MS = 1_000;
const LOST: Reading = { kind: 'doubt', httpStatus: null, reason: 'lost', rawResponse: null };
const IN_PROGRESS: Reading = {
  kind: 'refused',
  httpStatus: 400,
  error: { code: 'REQUEST_IN_PROGRESS', message: 'the key is in use', details: null },
  rawResponse: '{}',
};
/** Of the wall clock against the time that passes. */
let aheadMs = 0;
/** Commits that have written their records end with it. */
let stall: Promise<void> = Promise.resolve();

beforeEach(() => {
  aheadMs = 0;
  stall = Promise.resolve();
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => vi.useRealTimers());

interface Running {
  readonly lane: OpenLane;
  readonly lookUps: number[];
  readonly offerCopyOf: (entry: Entry) => void;
  readonly end: () => Promise<void>;
}

/** As in a process, the monotonic one has fractions of a millisecond. */
const clock = { nowMs: () => Date.now() + aheadMs, monotonicMs: () => Date.now() * (1 + 1e-9) };

function callsWith(answers: (Reading | Promise<Reading>)[], slots = 10): Calls {
  const api = {
    onChange: silence,
    closure: () => null,
    allowance: () => Infinity,
    perform: async () => answers.shift(),
  };
  return new Calls({
    ...{ api, slots, clock, isConfirmed: () => true, ratePerSecond: () => Infinity },
    traces: { called: silence },
  } as unknown as CallsOptions);
}

/** @param calls of the process, which outlive a lane */
function running(
  entry: Entry,
  answers: (Reading | Promise<Reading>)[],
  calls = callsWith(answers),
  others: readonly Entry[] = [],
): Running {
  const lookUps: number[] = [];
  const { commandType } = entry;
  const parts = partsWith([...others, entry], [commandType], {
    ...{ clock, calls },
    policy: aPolicy({ apiTimeoutMs: TIMEOUT_MS, settlingTimeMs: SETTLING_MS }),
    retention: { doneMs: 1e9, transactionMs: 1e9 },
    lookUps: {
      find: () => {
        lookUps.push(Date.now());
        return new Promise(silence);
      },
    },
    writer: { topics, topicPrefix: 'test', registry: { encode: () => Buffer.from('a result') } },
  });
  const inputs = new Inputs(parts, () => lane.wake());
  inputs.open(new Map([[topics.commands[commandType], 0n]]), null);
  const { writer, end } = writing(clock, () => stall);
  const ownership = { writer, token: 'token', careful: null, holdsEnd: 0n };
  const lane = new OpenLane(parts, inputs, new CommitReports(), ownership);
  calls.onCapacity(() => lane.wake());
  const over = lane.run();
  return {
    lane,
    lookUps,
    offerCopyOf: (of) => offer(inputs, commandType, of),
    end: async () => {
      lane.end();
      await over;
      await end();
    },
  };
}

function of(entry: Entry): Entry {
  const fingerprint = commandFingerprint(entry.commandType, entry.fieldsJson ?? '');
  return { ...entry, fingerprint, deadlineMs: 1_000_000 + HOUR_MS };
}

const PARKED = { state: 'PARKED', untilMs: 0, reason: 'not sent yet' } as const;

test('a refusal of a repeated key settles nothing early where the clock was set forward', async () => {
  const { end, lane } = running(of({ ...entryAt('transfer-in'), phase: PARKED }), [LOST, IN_PROGRESS, IN_PROGRESS]);
  await vi.advanceTimersByTimeAsync(10);
  expect(lane.status().entries).toMatchObject([{ attempts: 1, phase: { state: 'DOUBTFUL' } }]);

  aheadMs = 60_000;
  await vi.advanceTimersByTimeAsync(800);
  expect(lane.status().entries).toMatchObject([{ attempts: 2, phase: { state: 'DOUBTFUL' } }]);
  await end();
});

test('a call is dated in whole milliseconds, with which Kafka can be asked for the records since then', async () => {
  aheadMs = 60_000;
  const phase = { ...PARKED, untilMs: Date.now() + aheadMs + 5 };
  const { end, lane } = running(of({ ...entryAt('transfer-in'), phase }), [LOST]);
  await vi.advanceTimersByTimeAsync(20);
  expect(lane.status().entries[0]?.firstSentMs).toSatisfy(Number.isInteger);
  await end();
});

test('an answer that waits for a commit counts from its deadline by the clock that was set forward meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<Reading>();
  const entry = of({ ...entryAt('reject-transaction'), phase: PARKED });
  const { end, lane, lookUps, offerCopyOf } = running(entry, [promise]);
  await vi.advanceTimersByTimeAsync(10);
  const commit = Promise.withResolvers<undefined>();
  stall = commit.promise;
  offerCopyOf(entry);
  await vi.advanceTimersByTimeAsync(10);
  resolve(LOST);
  await vi.advanceTimersByTimeAsync(10);
  expect(lane.status().entries).toMatchObject([{ attempts: 0, phase: { state: 'INTENT' } }]);

  aheadMs = 60_000;
  commit.resolve(undefined);
  await vi.advanceTimersByTimeAsync(SETTLING_MS - 100);
  expect(lane.status().entries).toMatchObject([{ attempts: 1, phase: { state: 'DOUBTFUL' } }]);
  expect(lookUps).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lookUps).toHaveLength(1);
  await end();
});

/** A lane is lost while the last of the calls runs, which ends before the lane is regained. @returns the lane that regained it */
async function regained(before: Reading[], last: Reading, setMs: number): Promise<Running> {
  const { promise, resolve } = Promise.withResolvers<Reading>();
  const calls = callsWith([...before, promise, LOST]);
  const lost = running(of({ ...entryAt('transfer-in'), phase: PARKED }), [], calls);
  await vi.advanceTimersByTimeAsync(900);
  const [entry] = lost.lane.status().entries;
  if (entry === undefined) throw new Error('the entry is finished');
  expect(entry).toMatchObject({ attempts: before.length, phase: { state: 'INTENT' } });
  await lost.end();
  calls.release(0);
  resolve(last);
  await vi.advanceTimersByTimeAsync(0);

  aheadMs = setMs;
  const anew = running(entry, [], calls);
  await vi.advanceTimersByTimeAsync(10);
  return anew;
}

test('a refusal that waited for its lane settles nothing early where the clock was set back meanwhile', async () => {
  const { end, lane } = await regained([LOST], IN_PROGRESS, -60_000);
  expect(lane.status().entries).toMatchObject([{ attempts: 2, phase: { state: 'DOUBTFUL' } }]);
  await end();
});

test('a call that was cut off without its lane counts from its deadline where the clock was set forward', async () => {
  const { end, lane } = await regained([], LOST, 60_000);
  const deadlineMs = 1_000_000 + aheadMs + TIMEOUT_MS;
  expect(lane.status().entries).toMatchObject([{ attempts: 1, lastEndedMs: deadlineMs }]);
  await end();
});

test('what is to be called again does not wait for a clock that was set back while its commit stalled', async () => {
  const { promise, resolve } = Promise.withResolvers<Reading>();
  const again = Promise.withResolvers<Reading>();
  const { end, lane } = running(of({ ...entryAt('transfer-in'), phase: PARKED }), [promise, again.promise]);
  await vi.advanceTimersByTimeAsync(10);
  const commit = Promise.withResolvers<undefined>();
  stall = commit.promise;
  resolve(LOST);
  await vi.advanceTimersByTimeAsync(10);

  aheadMs = -3_600_000;
  commit.resolve(undefined);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lane.status().entries).toMatchObject([{ attempts: 1, phase: { state: 'INTENT' } }]);
  await end();
});

test('a key grows no younger where the clock was set back', async () => {
  const phase = { state: 'DOUBTFUL' as const, settleAtMs: 1_100_000, reason: 'lost', refusal: null };
  const entry = of({ ...entryAt('transfer-in'), firstSentMs: 900_000, lastEndedMs: 901_000, phase });
  const { end, lane, offerCopyOf } = running(entry, []);
  aheadMs = -60_000;
  offerCopyOf(entry);
  await vi.advanceTimersByTimeAsync(10);
  expect(lane.status().entries).toMatchObject([{ copies: [{}], firstSentMs: 840_000 }]);
  await end();
});

test('a call that waits for its slot is not made once its key is too old, by whatever clock', async () => {
  const slot = Promise.withResolvers<Reading>();
  const { idempotencyRetentionMs } = aPolicy();
  const firstSentMs = 1_000_000 - idempotencyRetentionMs + 120_000;
  const phase = { state: 'DOUBTFUL' as const, settleAtMs: 1_000_500, reason: 'lost', refusal: null };
  const entry = of({ ...entryAt('transfer-in'), firstSentMs, lastEndedMs: firstSentMs, phase });
  const other = of({ ...entryAt('transfer-in'), key: 'another', phase: PARKED });
  const answers = [slot.promise, LOST];
  const { end, lane } = running(entry, answers, callsWith(answers, 1), [other]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(lane.status().entries).toMatchObject([{ key: 'another' }, { phase: { state: 'INTENT' } }]);

  aheadMs = -3_600_000;
  await vi.advanceTimersByTimeAsync(300_000);
  slot.resolve(LOST);
  await vi.advanceTimersByTimeAsync(10);
  expect(answers).toHaveLength(1);
  await end();
});

test('a call is dated by the brokers where the clock is ahead of theirs', async () => {
  aheadMs = 60_000;
  const { end, lane } = running(of({ ...entryAt('transfer-in'), phase: PARKED }), [LOST]);
  await vi.advanceTimersByTimeAsync(10);
  const [entry] = lane.status().entries;
  expect(entry?.firstSentMs).toBeLessThanOrEqual(Date.now());
  expect(entry?.firstSentMs).toBeGreaterThanOrEqual(1_000_000);
  await end();
});

test('a copy makes nothing late where the clock was set back', async () => {
  const again = Promise.withResolvers<Reading>();
  const entry = of({ ...entryAt('transfer-in'), phase: { ...PARKED, untilMs: 1_002_000 } });
  const { end, lane, offerCopyOf } = running(entry, [again.promise]);
  await vi.advanceTimersByTimeAsync(10);

  aheadMs = -3_600_000;
  offerCopyOf(entry);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(lane.status().entries).toMatchObject([{ copies: [{}], phase: { state: 'INTENT' } }]);
  await end();
});
