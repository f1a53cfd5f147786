/**
 * Two-step quotes that cannot be executed. Those that have run out when they come: a few are made anew, with pauses, and then the
 * command ends. Those that the service has executed already.
 */
import { describe, expect, test } from 'vitest';
import { backOffMs } from '../../src/ledger/back-off.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Decision } from '../../src/ledger/decision.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { subjectOf } from '../../src/ledger/effect.ts';
import { decideByOperator } from '../../src/ledger/operator.ts';
import { REQUOTES_MAX, expiredQuoteOf } from '../../src/ledger/quote-again.ts';
import type { Reading } from '../../src/api/types.ts';
import { aPolicy, aQuote, doneWith, due, entryAt, entryOf, resultOf } from './entries.ts';

const policy = aPolicy();

/** A two-step quote whose creation is on its way. */
const creating: Entry = { ...entryAt('create-quote'), immediate: true, step: 'CREATE' };

let quotes = 0;

function answered(entry: Entry, reading: Reading, nowMs: number): Decision {
  if (entry.phase.state !== 'INTENT') throw new Error(`nothing was called: ${entry.phase.state}`);
  const { attemptId } = entry.phase;
  return decide(entry, { kind: 'answered', attemptId, reading, beganMs: nowMs, nowMs }, policy);
}

/** The answer to the creation: a quote that runs out so long after it came. */
function created(entry: Entry, nowMs: number, livesMs: number, status = 'PENDING'): Decision {
  const expiresAt = new Date(nowMs + livesMs).toISOString();
  const quote = aQuote({ id: `Quote:${(quotes += 1)}`, transactionId: 'Transaction:1', status, expiresAt });
  const reading = { kind: 'accepted', httpStatus: 201, quote, transaction: null } as const;
  return answered(entry, { ...reading, rawResponse: null, warnings: [] }, nowMs);
}

function quoted(entry: Entry, nowMs: number, livesMs: number): Entry {
  return entryOf(created(entry, nowMs, livesMs));
}

test.each(['PROCESSING', 'COMPLETED'])('a quote that was %s when it came is not executed, nor is another', (status) => {
  const result = resultOf(created(creating, 2_000, 60_000, status));
  expect(result).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'ANSWER', quote: { status } });
  expect(result.warnings).toEqual([`the service executed the quote as soon as it created it: its status is ${status}`]);
});

test.each(['PROCESSING', 'FAILED', 'NEW_STATUS'])(
  'a quote that comes again and is %s is not told as unexecuted, nor as our payment',
  (status) => {
    const waited = quoted(creating, 2_000, 60_000);
    const again = entryOf(due(waited, 70_000));
    const quote = aQuote({ id: waited.quoted?.quoteId ?? '', transactionId: 'Transaction:1', status });
    const reading = { kind: 'accepted', httpStatus: 201, quote, transaction: null } as const;
    const decision = answered(again, { ...reading, rawResponse: null, warnings: [] }, 71_000);
    const result = resultOf(decision);
    expect(result.outcome).toBe('UNKNOWN');
    expect(result.error?.message).toContain(`the same quote for this key, and its status is ${status}`);
    if (decision.kind !== 'finish') throw new Error(decision.kind);
    const done = doneWith({ ...again, ...decision.entry }, 'UNKNOWN');
    expect(subjectOf(done)).toMatchObject({ transactionId: 'Transaction:1' });
    const retry = {
      decision: 'RETRY',
      expectedRevision: 1,
      transactionId: null,
      operator: 'ada',
      reason: 'r',
      id: null,
    };
    const refused = { kind: 'refused', reason: expect.stringContaining('decide EXECUTED or NOT_EXECUTED') as string };
    expect(decideByOperator(done, retry, 80_000, policy)).toMatchObject(refused);
  },
);

describe.each([
  ['had run out when they came', -60_000],
  ['run out before they can be executed', 3],
])('quotes that %s', (_name, livesMs) => {
  test('are made anew five times, each after a longer pause; then the command is EXPIRED, and says why', () => {
    let nowMs = 2_000;
    let entry = quoted(creating, nowMs, livesMs);
    for (let anew = 0; anew < REQUOTES_MAX; anew += 1) {
      nowMs += 5;
      const paused = entryOf(due(entry, nowMs));
      const untilMs = nowMs + backOffMs(entry.key, anew);
      expect(paused).toMatchObject({ step: 'CREATE', phase: { state: 'PARKED', untilMs } });
      expect(expiredQuoteOf(entry, paused)).toEqual({ cause: 'on-arrival', isMadeAnew: true });
      nowMs = untilMs;
      entry = quoted(entryOf(due(paused, nowMs)), nowMs, livesMs);
    }
    const end = due(entry, nowMs + 5);
    if (end.kind !== 'finish') throw new Error(end.kind);
    expect(expiredQuoteOf(entry, end.entry)).toEqual({ cause: 'on-arrival', isMadeAnew: false });
    expect(end.result).toMatchObject({ outcome: 'EXPIRED', settledBy: 'PROCESSOR', attempts: 1 + REQUOTES_MAX });
    expect(end.result.error?.message).toMatch(/6 quotes in a row.*none was executed.*processor's clock/);
    expect(end.result.error?.message).not.toContain('before anything was sent');
  });
});

test('a quote that lived, and waited too long for its execution, is made anew at once, and counts for nothing', () => {
  const waited = { ...quoted(creating, 2_000, 60_000), quotesRunOut: 3 };
  const again = entryOf(due(waited, 70_000));
  expect(again).toMatchObject({ step: 'CREATE', quotesRunOut: 0, phase: { state: 'INTENT' } });
  expect(expiredQuoteOf(waited, again)).toEqual({ cause: 'waiting', isMadeAnew: true });
});

test('a quote that still lives is executed, however short', () => {
  const executing = entryOf(due(quoted(creating, 2_000, 50), 2_010));
  expect(executing).toMatchObject({ step: 'EXECUTE', phase: { state: 'INTENT' } });
});

describe('an execution that was deferred until its time limit and retried hours later', () => {
  const MINUTE_MS = 60_000;
  const retriedMs = 5 * 60 * MINUTE_MS;
  const told = { kind: 'told-to-wait', httpStatus: 429, retryAfterMs: 60 * MINUTE_MS, reason: 'HTTP 429' } as const;

  function retried(entry: Entry): Entry {
    expect(due(entry, entry.deadlineMs)).toMatchObject({ kind: 'finish', result: { outcome: 'EXPIRED' } });
    const by = { operator: 'ada', reason: '', id: null };
    const order = { decision: 'RETRY', expectedRevision: 1, transactionId: null, ...by };
    const reply = decideByOperator(doneWith(entry, 'EXPIRED'), order, retriedMs, policy);
    if (reply.kind !== 'decided') throw new Error(reply.reason);
    return entryOf(due(entryOf(reply.decision), retriedMs));
  }

  function lookedForAt(entry: Entry): number | null {
    const decision = due(entry, retriedMs + MINUTE_MS);
    return decision.kind === 'look-up' ? decision.query.createdMs : null;
  }

  test.each([
    ['', MINUTE_MS, 3_000],
    [', also hours later', 3 * 60 * MINUTE_MS, 2_000 + 2 * 60 * MINUTE_MS],
  ])('is looked up at the time of its quote%s', (_, livesMs, executedMs) => {
    const lasting = { ...creating, deadlineMs: Math.max(creating.deadlineMs, executedMs + MINUTE_MS) };
    const executing = entryOf(due(quoted(lasting, 2_000, livesMs), executedMs));
    expect(lookedForAt(retried(entryOf(answered(executing, told, executedMs + 100))))).toBe(2_000);
  });

  test('is looked up at the time of the command, if the quote is another\u2019s', () => {
    const { origin, ...executing } = entryAt('execute-quote');
    const entry = { ...executing, origin: { ...origin, timestampMs: 900 } };
    const again = retried(entryOf(answered(entry, told, 2_000)));
    const error = { code: 'QUOTE_EXPIRED', message: '', details: null };
    const refused = { kind: 'refused', httpStatus: 422, error, rawResponse: '' } as const;
    expect(lookedForAt(entryOf(answered(again, refused, retriedMs + 10)))).toBe(900);
  });
});

describe('an execution whose answer was lost, decided NOT_EXECUTED and retried; then its quote expires', () => {
  const LOST: Reading = { kind: 'doubt', httpStatus: null, reason: 'connection lost', rawResponse: null };
  const DEFERRED: Reading = { kind: 'told-to-wait', httpStatus: 429, retryAfterMs: null, reason: 'HTTP 429' };

  function byOperator(done: Entry, decision: string, nowMs: number): Decision {
    const by = { operator: 'ada', reason: '', id: null, transactionId: null };
    const reply = decideByOperator(done, { decision, expectedRevision: done.revision, ...by }, nowMs, policy);
    if (reply.kind === 'refused') throw new Error(reply.reason);
    return reply.decision;
  }

  /** Deferred once, then lost; and decided about. */
  function retried(): Entry {
    const executing = entryOf(due(quoted(creating, 2_000, 60_000), 2_010));
    const deferred = entryOf(answered(executing, DEFERRED, 2_100));
    const lost = entryOf(answered(entryOf(due(deferred, 5_000)), LOST, 5_100));
    const decided = byOperator(doneWith(lost, 'UNKNOWN'), 'NOT_EXECUTED', 20_000);
    if (decided.kind !== 'finish') throw new Error(decided.kind);
    return entryOf(byOperator(doneWith({ ...lost, ...decided.entry }, 'EXPIRED'), 'RETRY', 30_000));
  }

  test('another quote is asked for: the decision is about the deferred call too', () => {
    expect(due(retried(), 62_001)).toMatchObject({ entry: { step: 'CREATE', phase: { state: 'INTENT' } } });
  });

  test('the quote is looked up before, if a call was deferred since the decision', () => {
    const deferred = entryOf(answered(entryOf(due(retried(), 30_000)), DEFERRED, 30_100));
    expect(due(deferred, 62_001)).toMatchObject({ entry: { step: 'EXECUTE', phase: { state: 'DOUBTFUL' } } });
  });

  test('the time limit ends it by the decision, which no deferred call follows', () => {
    const { result } = due(retried(), 10_000_000) as Extract<Decision, { kind: 'finish' }>;
    expect(result).toMatchObject({ outcome: 'EXPIRED', settledBy: 'OPERATOR' });
    expect(result.error?.message).not.toContain('deferred');
  });
});
