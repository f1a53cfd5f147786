/** The table of answers, row by row: what each answer makes of a command, without doubt and with an earlier attempt in doubt. */
import { describe, expect, test } from 'vitest';
import type { Reading } from '../../src/api/types.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Decision } from '../../src/ledger/decision.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import type { LedgerPolicy } from '../../src/ledger/settlement.ts';
import { takenUp } from '../../src/ledger/wrong-clocks.ts';
import { aPolicy, due, entryAt, entryOf, inDoubt } from './entries.ts';

const error = { code: 'SOME_CODE', message: 'no', details: null };
const withoutCode = { code: null, message: 'no', details: null };

const READINGS = {
  accepted: { kind: 'accepted', httpStatus: 200, quote: null, transaction: null, rawResponse: null, warnings: [] },
  doubt: { kind: 'doubt', httpStatus: 503, reason: 'HTTP 503', rawResponse: null },
  redirected: { kind: 'redirected', httpStatus: 302, reason: 'HTTP 302' },
  unauthorized: { kind: 'unauthorized', httpStatus: 401, reason: 'HTTP 401' },
  'not here, service fails': { kind: 'not-here', httpStatus: 404, serviceFails: true, error, rawResponse: '' },
  'not here, with a code': { kind: 'not-here', httpStatus: 404, serviceFails: false, error, rawResponse: '' },
  'not here, no code': { kind: 'not-here', httpStatus: 404, serviceFails: false, error: withoutCode, rawResponse: '' },
  'told to wait': { kind: 'told-to-wait', httpStatus: 429, retryAfterMs: 7_000, reason: 'HTTP 429' },
  conflict: { kind: 'conflict', httpStatus: 409, error, rawResponse: '' },
  refused: { kind: 'refused', httpStatus: 400, error, rawResponse: '' },
  'refused, no code': { kind: 'refused', httpStatus: 413, error: withoutCode, rawResponse: '' },
  'never sent': { kind: 'never-sent', reason: 'refused connection' },
} satisfies Record<string, Reading>;

type Row = keyof typeof READINGS;
type Effect = 'ACCEPTED' | 'REFUSED' | 'UNKNOWN' | 'waits' | 'doubt';

const WITHOUT_DOUBT: Record<Row, Effect> = {
  accepted: 'ACCEPTED',
  doubt: 'doubt',
  redirected: 'waits',
  unauthorized: 'waits',
  'not here, service fails': 'waits',
  'not here, with a code': 'REFUSED',
  // A page in place of the service's answer, perhaps after the call was taken.
  'not here, no code': 'doubt',
  'told to wait': 'waits',
  conflict: 'REFUSED',
  refused: 'REFUSED',
  'refused, no code': 'REFUSED',
  'never sent': 'waits',
};

/* An earlier attempt is in doubt: rows that come to something else than without. */

/** A conflict may speak of the first call; what has no code of the service is not its answer to the key. */
const KEYED: Partial<Record<Row, Effect>> = { conflict: 'doubt', 'refused, no code': 'waits' };
const PLAIN_QUOTE: Partial<Record<Row, Effect>> = { conflict: 'doubt' };
const LOOKED_UP: Partial<Record<Row, Effect>> = {
  'not here, with a code': 'doubt',
  conflict: 'doubt',
  refused: 'doubt',
  'refused, no code': 'doubt',
};
/** The first call may have moved money of the sandbox. */
const SANDBOX: Partial<Record<Row, Effect>> = {
  'not here, with a code': 'UNKNOWN',
  conflict: 'doubt',
  refused: 'UNKNOWN',
  'refused, no code': 'UNKNOWN',
};

const policy = aPolicy();
const keyed = aPolicy({ idempotentOperations: new Set(['transfer-in', 'execute-quote', 'reject-transaction']) });
const SETTLEMENTS: [string, Entry, Partial<Record<Row, Effect>>, LedgerPolicy][] = [
  ['transfer-in, by its key', entryAt('transfer-in'), KEYED, policy],
  ['create-quote, harmless', entryAt('create-quote'), PLAIN_QUOTE, policy],
  ['simulate-uma-receive, in a sandbox', entryAt('simulate-uma-receive'), SANDBOX, policy],
  ['execute-quote, looked up', entryAt('execute-quote'), LOOKED_UP, policy],
  ['reject-transaction, looked up', entryAt('reject-transaction'), LOOKED_UP, policy],
  ['execute-quote, by its key', entryAt('execute-quote'), KEYED, keyed],
  ['reject-transaction, by its key', entryAt('reject-transaction'), KEYED, keyed],
];

describe.each(SETTLEMENTS)('%s', (_name, entry, changed, policy) => {
  test.each(Object.entries(WITHOUT_DOUBT))('%s, nothing in doubt: %s', (row, expected) => {
    expect(effectOf(decide(entry, answered(row as Row), policy))).toBe(expected);
  });

  test.each(Object.keys(WITHOUT_DOUBT))('%s, an earlier attempt in doubt', (row) => {
    const expected = changed[row as Row] ?? WITHOUT_DOUBT[row as Row];
    const before = inDoubt(entry);
    const decision = decide(before, answered(row as Row), policy);
    // What waits stays in doubt: only the service's own word or a look-up ends it.
    expect(effectOf(decision)).toBe(expected === 'waits' ? 'doubt' : expected);
    if (decision.kind === 'next') expect(decision.entry.firstSentMs).not.toBeNull();
    if (expected === 'waits') expect(decision).toMatchObject({ entry: { lastEndedMs: before.lastEndedMs } });
    // A proxy may have sent it: a look-up must not take it for the refusal of the call.
    if (row === 'not here, no code' && decision.kind === 'next' && decision.entry.phase.state === 'DOUBTFUL')
      expect(decision.entry.phase.refusal).toBeNull();
  });
});

test('a call that nothing can settle is UNKNOWN at once, with the reason', () => {
  const policy = aPolicy({ idempotentOperations: new Set() });
  const decision = decide(entryAt('transfer-in'), answered('doubt'), policy);
  expect(effectOf(decision)).toBe('UNKNOWN');
  expect(decision.kind === 'finish' && decision.result.error?.message).toContain('HTTP 503');
});

test('a native immediate execution is UNKNOWN after doubt, and settled by its key where that is honoured', () => {
  const immediate = { ...entryAt('create-quote'), immediate: true };
  const native = { immediateExecution: 'native' as const };
  expect(effectOf(decide(immediate, answered('doubt'), aPolicy(native)))).toBe('UNKNOWN');
  const honoured = aPolicy({ ...native, idempotentOperations: new Set(['create-quote']) });
  expect(effectOf(decide(immediate, answered('doubt'), honoured))).toBe('doubt');
});

test('an answer to an attempt that is not the present one changes nothing', () => {
  const event = { ...answered('accepted'), attemptId: 'another' };
  expect(decide(entryAt('transfer-in'), event, policy)).toEqual({ kind: 'unchanged' });
});

test('a refusal after a look-up that found nothing executed is looked up again, not called again', () => {
  const proven: Entry = { ...inDoubt(entryAt('execute-quote')), unexecuted: { by: 'LOOK_UP', attempts: 1 } };
  // Also where the key is honoured: if it had kept the first answer, no look-up would have been needed.
  for (const [row, policy] of [['conflict', aPolicy()] as const, ['refused', keyed] as const]) {
    const refused = decide(proven, answered(row), policy);
    expect(effectOf(refused)).toBe('doubt');
    if (refused.kind === 'next') expect(due(refused.entry, 10_000, policy).kind).toBe('look-up');
  }
  // A takeover voids the proof, and not that the key settled nothing.
  const lost = entryOf(decide(proven, answered('doubt'), keyed));
  const takenOver = entryOf(due(takenUp({ ...lost, calledAs: null }, 3_000, keyed), 3_100, keyed));
  expect(due(takenOver, 10_000, keyed).kind).toBe('look-up');
});

test.each([
  ['transfer-in', 'conflict', aPolicy({ idempotentOperations: new Set() }), 'UNKNOWN'],
  ['transfer-in', 'conflict', aPolicy(), 'doubt'],
  ['transfer-in', 'refused', aPolicy(), 'REFUSED'],
  ['execute-quote', 'refused', aPolicy(), 'doubt'],
  ['create-quote', 'conflict', aPolicy(), 'REFUSED'],
] as const)(
  '%s that was deferred, then got %s: the service may have taken the first call',
  (type, row, by, expected) => {
    expect(effectOf(decide({ ...entryAt(type), turnedAway: 1 }, answered(row), by))).toBe(expected);
  },
);

test('a deferred call whose key is honoured is not refused by a status that need not be its answer', () => {
  const event = { ...answered('refused'), reading: { ...READINGS.refused, httpStatus: 403 } };
  expect(effectOf(decide({ ...entryAt('execute-quote'), turnedAway: 1 }, event, keyed))).toBe('waits');
});

test('the wait that the service asks for is kept', () => {
  const decision = decide(entryAt('transfer-in'), answered('told to wait'), aPolicy());
  expect(decision).toMatchObject({ entry: { phase: { state: 'PARKED', untilMs: 9_000 } } });
});

test('a wait of nothing, which the service asks for, is our own back-off', () => {
  const told = answered('told to wait');
  const event = { ...told, reading: { ...READINGS['told to wait'], retryAfterMs: 0 } };
  const decision = decide({ ...entryAt('transfer-in'), waits: 10 }, event, aPolicy());
  if (decision.kind !== 'next' || decision.entry.phase.state !== 'PARKED') throw new Error('it does not wait');
  expect(decision.entry.phase.untilMs).toBeGreaterThan(2_000 + 5_000);
});

function answered(row: Row) {
  return { kind: 'answered' as const, attemptId: 'attempt', reading: READINGS[row], beganMs: 1_400, nowMs: 2_000 };
}

function effectOf(decision: Decision): string {
  if (decision.kind === 'finish') return decision.result.outcome;
  if (decision.kind !== 'next') return decision.kind;
  const { state } = decision.entry.phase;
  return state === 'PARKED' ? 'waits' : state === 'DOUBTFUL' ? 'doubt' : state;
}
