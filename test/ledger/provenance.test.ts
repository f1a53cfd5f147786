/**
 * From where it is known that nothing took effect: from never having sent, from a look-up of the very attempt, or from a
 * operator's word, and then the result says so. Nothing else ends a doubt as EXPIRED or REFUSED.
 */
import { describe, expect, test } from 'vitest';
import type { Reading } from '../../src/api/types.ts';
import { readQuote } from '../../src/api/wire.ts';
import { callOf } from '../../src/ledger/call-of.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Decision, LookUpOutcome } from '../../src/ledger/decision.ts';
import { proofOf, type Entry } from '../../src/ledger/entry.ts';
import { decideByOperator, type OperatorReply } from '../../src/ledger/operator.ts';
import type { Transaction } from 'payment-processor-contract/types';
import {
  aPolicy,
  aQuoted,
  aTransaction,
  doneWith,
  doubtful,
  due,
  entryAt,
  entryOf,
  inDoubt,
  resultOf,
  unknown,
} from './entries.ts';

const policy = aPolicy();
const nothingHonoured = aPolicy({ idempotentOperations: new Set() });
const HOUR_MS = 3_600_000;

function order(entry: Entry, decision: string) {
  const by = { operator: 'ada', reason: 'looked', id: 'event-1' };
  return { decision, expectedRevision: entry.revision, transactionId: null, ...by };
}

function decided(reply: OperatorReply): Decision {
  if (reply.kind === 'refused') throw new Error(reply.reason);
  return reply.decision;
}

function retried(entry: Entry, nowMs: number, by = policy): Entry {
  return entryOf(decided(decideByOperator(entry, order(entry, 'RETRY'), nowMs, by)));
}

function found(entry: Entry, finding: LookUpOutcome, nowMs = 10_000, attempts = entry.attempts): Decision {
  return decide(entry, { kind: 'looked-up', attempts, finding, effectStatus: null, nowMs }, policy);
}

const shown = (changes: Partial<Transaction> = {}): LookUpOutcome => ({
  kind: 'found',
  transaction: aTransaction(changes),
});

function answered(entry: Entry, reading: Reading, by = policy): Decision {
  if (entry.phase.state !== 'INTENT') throw new Error(`nothing was called: ${entry.phase.state}`);
  return decide(
    entry,
    { kind: 'answered', attemptId: entry.phase.attemptId, reading, beganMs: 11_500, nowMs: 12_000 },
    by,
  );
}

const LOST: Reading = { kind: 'doubt', httpStatus: null, reason: 'connection lost', rawResponse: null };
const ACCEPTED = { kind: 'accepted' as const, httpStatus: 200, rawResponse: null, warnings: [] };
const TOLD_TO_WAIT: Reading = { kind: 'told-to-wait', httpStatus: 429, retryAfterMs: null, reason: 'HTTP 429' };
const error = { code: 'NO', message: 'no', details: null };
const REFUSED: Reading = { kind: 'refused', httpStatus: 400, error, rawResponse: '' };
const CONFLICT: Reading = { kind: 'conflict', httpStatus: 409, error, rawResponse: '' };

describe('RETRY of an UNKNOWN execution', () => {
  const execution = unknown({ ...entryAt('execute-quote'), expiresAtMs: 5_000 });

  test('looks it up first, and after expires-at, where that finds nothing, is UNKNOWN again', () => {
    const again = entryOf(due(retried(execution, 9_000), 9_000));
    expect(again.phase.state).toBe('DOUBTFUL');
    expect(due(again, 9_000 + policy.settlingTimeMs)).toMatchObject({
      kind: 'look-up',
      query: { attempts: 1, transactionId: 'Transaction:1' },
    });
    expect(resultOf(found(again, { kind: 'not-found' }))).toMatchObject({ outcome: 'UNKNOWN', revision: 2 });
  });

  test('is not EXPIRED where the service is held until its new age ends', () => {
    const again = retried({ ...execution, expiresAtMs: null }, 9_000);
    expect(due(again, 9_000 + 2 * HOUR_MS).kind).toBe('look-up');
  });

  test('is EXPIRED where the look-up shows that nothing took effect, and says who knows', () => {
    const proven = entryOf(found(entryOf(due(retried(execution, 9_000), 9_000)), shown()));
    expect(resultOf(due(proven, 10_000))).toMatchObject({ outcome: 'EXPIRED', settledBy: 'LOOKUP' });
    const deferred = { ...proven, turnedAway: 1 };
    expect(resultOf(due(deferred, 10_000)).error?.message).toContain(
      'no call took effect, and the service deferred others',
    );
  });

  test('is ACCEPTED where the look-up shows that it was executed', () => {
    const again = entryOf(due(retried(execution, 9_000), 9_000));
    expect(resultOf(found(again, shown({ status: 'SENT' })))).toMatchObject({
      outcome: 'ACCEPTED',
      settledBy: 'LOOKUP',
    });
  });
});

describe('RETRY of an UNKNOWN transfer in', () => {
  const transfer = unknown(entryAt('transfer-in'));

  test('makes the same call again where its key is honoured, and past its time limit is UNKNOWN again', () => {
    const again = retried(transfer, 9_000);
    expect(entryOf(due(again, 9_000))).toMatchObject({ phase: { state: 'INTENT' }, firstSentMs: 500 });
    expect(resultOf(due(again, 9_000 + 2 * HOUR_MS)).outcome).toBe('UNKNOWN');
  });

  test('counts the settling time anew: its last call may have ended later by the clock in use then', () => {
    const lastEndedMs = 9_000 - policy.settlingTimeMs;
    const again = retried({ ...transfer, lastEndedMs }, 9_000);
    const refused = { kind: 'answered' as const, attemptId: 'next', reading: REFUSED };
    const early = entryOf(decide(entryOf(due(again, 9_000)), { ...refused, beganMs: 9_000, nowMs: 9_100 }, policy));
    expect(early.phase.state).toBe('DOUBTFUL');
    const settledMs = 9_000 + policy.settlingTimeMs;
    const called = entryOf(due(early, settledMs));
    expect(resultOf(decide(called, { ...refused, beganMs: settledMs, nowMs: settledMs }, policy))).toMatchObject({
      outcome: 'REFUSED',
    });
  });

  test.each([
    ['whose key is not honoured', transfer],
    ['that is a native immediate execution', unknown({ ...entryAt('create-quote'), immediate: true })],
    // EXPIRED would tell its publisher that nothing was paid.
    ['whose expires-at has passed', { ...transfer, expiresAtMs: 5_000 }],
  ])('%s: is UNKNOWN again without a call, and says what calls anew', (_name, entry) => {
    const result = resultOf(decided(decideByOperator(entry, order(entry, 'RETRY'), 9_000, nothingHonoured)));
    expect(result).toMatchObject({ outcome: 'UNKNOWN', revision: 2, attempts: 1 });
    expect(result.error?.message).toMatch(/cannot settle.*NOT_EXECUTED and then RETRY/);
  });
});

test('a key is not used in its last moments: the call could arrive after the service forgot it', () => {
  // 24 h from the first sending at 500 ms, less the timeout and the settling time.
  const untilMs = 500 + 24 * HOUR_MS - 1_500;
  const waiting: Entry = { ...doubtful(entryAt('transfer-in')), deadlineMs: 25 * HOUR_MS };
  expect(entryOf(due(waiting, untilMs - 1)).phase.state).toBe('INTENT');
  expect(resultOf(due(waiting, untilMs)).outcome).toBe('UNKNOWN');
  const entry = unknown(entryAt('transfer-in'));
  expect(decideByOperator(entry, order(entry, 'RETRY'), untilMs - 1, policy).kind).toBe('decided');
  expect(decideByOperator(entry, order(entry, 'RETRY'), untilMs, policy).kind).toBe('refused');
  // A call that was deferred before may have been the first.
  const later = { ...entry, turnedAway: 1, firstSentMs: 10 * HOUR_MS, lastEndedMs: 10 * HOUR_MS };
  expect(decideByOperator(later, order(later, 'RETRY'), 30 * HOUR_MS, policy).kind).toBe('refused');
});

describe('NOT_EXECUTED, and RETRY after it', () => {
  function onWord(nowMs: number): Entry {
    const entry = unknown(entryAt('transfer-in'));
    const decision = decided(decideByOperator(entry, order(entry, 'NOT_EXECUTED'), 3_000, nothingHonoured));
    expect(resultOf(decision)).toMatchObject({ outcome: 'EXPIRED', settledBy: 'OPERATOR', revision: 2 });
    if (decision.kind !== 'finish') throw new Error(decision.kind);
    const expired = doneWith({ ...decision.entry, phase: { state: 'QUOTED' } }, 'EXPIRED');
    return retried(expired, nowMs, nothingHonoured);
  }

  test('calls anew', () => {
    expect(entryOf(due(onWord(4_000), 4_000, nothingHonoured)).phase.state).toBe('INTENT');
  });

  test('without time left is EXPIRED, as the operator decided: never "before anything was sent"', () => {
    const result = resultOf(due(onWord(4_000), 4_000 + 2 * HOUR_MS, nothingHonoured));
    expect(result).toMatchObject({ outcome: 'EXPIRED', settledBy: 'OPERATOR', attempts: 1 });
    expect(result.error?.message).toMatch(/an operator decided \(revision 2\)/);
  });

  test('is REFUSED on the word of the operator where the service refuses the new call', () => {
    const intent = entryOf(due(onWord(4_000), 4_000, nothingHonoured));
    expect(resultOf(answered(intent, REFUSED, nothingHonoured))).toMatchObject({
      outcome: 'REFUSED',
      settledBy: 'OPERATOR',
      httpStatus: 400,
    });
  });

  test.each([
    ['a conflict, which may speak of the first call', CONFLICT],
    ['no clear answer', LOST],
  ])('is UNKNOWN again after %s', (_name, reading) => {
    const intent = entryOf(due(onWord(4_000), 4_000, nothingHonoured));
    expect(resultOf(answered(intent, reading, nothingHonoured)).outcome).toBe('UNKNOWN');
  });

  test('holds across a call that the service put off', () => {
    const intent = entryOf(due(onWord(4_000), 4_000, nothingHonoured));
    const parked = entryOf(answered(intent, TOLD_TO_WAIT, nothingHonoured));
    const result = resultOf(due(parked, 4_000 + 2 * HOUR_MS, nothingHonoured));
    expect(result).toMatchObject({ outcome: 'EXPIRED', settledBy: 'OPERATOR', attempts: 2 });
  });

  test('is UNKNOWN, not EXPIRED, past its time limit after a conflict, although the key is honoured', () => {
    const intent = entryOf(due(onWord(4_000), 4_000));
    const parked = entryOf(answered(intent, CONFLICT));
    expect(resultOf(due(parked, 4_000 + 2 * HOUR_MS)).outcome).toBe('UNKNOWN');
  });

  test('makes no call once the service may have forgotten the key: a person can be wrong', () => {
    const result = resultOf(due({ ...onWord(4_000), deadlineMs: 100 * HOUR_MS }, 25 * HOUR_MS, nothingHonoured));
    expect(result).toMatchObject({ outcome: 'EXPIRED', settledBy: 'OPERATOR' });
  });
});

test('a key protects only under the API_TOKEN_ID of the first call: what is in doubt is not called under another, not even on a RETRY', () => {
  const another = aPolicy({ callerId: 'another' });
  const inDoubt = { ...doubtful(entryAt('transfer-in')), calledAs: 'caller' };
  expect(entryOf(due(inDoubt, 9_000)).phase.state).toBe('INTENT');
  expect(resultOf(due(inDoubt, 9_000, another)).outcome).toBe('UNKNOWN');
  const ended = unknown(inDoubt);
  const retry = decideByOperator(ended, order(ended, 'RETRY'), 9_000, another);
  expect(retry).toMatchObject({ kind: 'refused', reason: expect.stringContaining('API_TOKEN_ID') as string });
  const parked = { ...entryAt('transfer-in'), phase: { state: 'PARKED', untilMs: 0, reason: 'put off' } } as const;
  expect(entryOf(due(parked, 0, another)).calledAs).toBe('another');
  // A look-up showed that the calls before had no effect: only the key of the next one counts.
  const unexecuted = { by: 'LOOK_UP', attempts: inDoubt.attempts } as const;
  const proven = { ...inDoubt, phase: parked.phase, unexecuted };
  expect(entryOf(due(proven, 9_000, another)).calledAs).toBe('another');
  // No process recorded it, as before this release.
  expect(entryOf(due({ ...inDoubt, calledAs: null }, 9_000, another)).phase.state).toBe('INTENT');
});

test.each(['execute-quote', 'reject-transaction'] as const)(
  '%s in doubt, its key honoured: past its time limit, or the memory of its key, it is looked up instead',
  (commandType) => {
    const honoured = aPolicy({ idempotentOperations: new Set([commandType]) });
    const entry = doubtful(entryAt(commandType));
    expect(entryOf(due(entry, 9_000, honoured)).phase.state).toBe('INTENT');
    expect(due(entry, 2 * HOUR_MS, honoured)).toMatchObject({ kind: 'look-up', query: { attempts: 1 } });
    const longLived = { ...entry, deadlineMs: 100 * HOUR_MS };
    expect(resultOf(due(longLived, 25 * HOUR_MS, honoured)).outcome).toBe('UNKNOWN');
    const nearlyForgotten = 24 * HOUR_MS - 1;
    expect(due(longLived, nearlyForgotten, honoured)).toMatchObject({ kind: 'look-up' });
  },
);

test('RETRY of an INVALID reads it anew, but is refused where its expires-at could not be read', () => {
  const invalid = doneWith(entryAt('transfer-in'), 'INVALID');
  expect(retried(invalid, 9_000).phase.state).toBe('PARKED');
  const unreadable = { ...invalid, isExpiryUnreadable: true };
  const reply = decideByOperator(unreadable, order(unreadable, 'RETRY'), 9_000, policy);
  expect(reply).toMatchObject({ kind: 'refused', reason: expect.stringContaining('expires-at') as string });
});

describe('fields that the rules of this release forbid, and that an earlier one took', () => {
  const forbidden = (entry: Entry): Entry => ({
    ...entry,
    fieldsJson: entry.fieldsJson?.replace(/}$/, ',"senderCustomerInfo":{"x":"y"}}') ?? null,
  });

  test('are sent as they were admitted, once their call has begun', () => {
    const waiting = forbidden(doubtful(entryAt('create-quote')));
    const { request } = callOf(entryOf(due(waiting, 9_000)));
    expect(request).toMatchObject({ operation: 'create-quote', fields: { senderCustomerInfo: { x: 'y' } } });
  });

  test('are INVALID again on RETRY where nothing was sent, and never where a call may have taken effect', () => {
    const untouched = forbidden(doneWith(entryAt('create-quote'), 'INVALID'));
    const result = resultOf(decided(decideByOperator(untouched, order(untouched, 'RETRY'), 9_000, policy)));
    expect(result).toMatchObject({ outcome: 'INVALID', revision: 2 });
    expect(retried(forbidden(unknown(entryAt('create-quote'))), 9_000).phase.state).toBe('DOUBTFUL');
  });
});

test('RETRY of a call whose fields only another release can read is refused: INVALID would say that nothing was sent', () => {
  const sent = { ...doneWith(entryAt('transfer-in'), 'UNKNOWN'), attempts: 1, firstSentMs: 500 };
  const newer = { ...sent, fieldsJson: '{"memo":1}' };
  expect(decideByOperator(newer, order(newer, 'RETRY'), 9_000, policy)).toEqual({
    kind: 'refused',
    reason: 'this release cannot read its fields: retry it with the release that made the call',
  });
});

describe('a look-up', () => {
  test('that was asked for before the latest attempt proves nothing of it', () => {
    const first = doubtful(entryAt('execute-quote'));
    const proven = entryOf(found(first, shown()));
    const second = entryOf(answered(entryOf(due(proven, 10_000)), LOST));
    expect(second).toMatchObject({ attempts: 2, phase: { state: 'DOUBTFUL' } });
    expect(found(second, shown(), 12_100, first.attempts)).toEqual({ kind: 'unchanged' });
    expect(entryOf(found(second, shown(), 13_000)).phase.state).toBe('PARKED');
  });

  test('is not made before the settling time, whatever was to settle the doubt when it came', () => {
    const keyed = aPolicy({ idempotentOperations: new Set(['execute-quote']), settlingTimeMs: 60_000 });
    const soon = entryOf(answered(entryAt('execute-quote'), LOST, keyed));
    if (soon.phase.state !== 'DOUBTFUL') throw new Error(soon.phase.state);
    expect(soon.phase.settleAtMs).toBeLessThan(13_000);
    const notHonoured = aPolicy({ settlingTimeMs: 60_000 });
    const later = entryOf(due(soon, soon.phase.settleAtMs, notHonoured));
    expect(later.phase).toMatchObject({ state: 'DOUBTFUL', settleAtMs: 72_500 });
    expect(due(later, 72_500, notHonoured).kind).toBe('look-up');
  });

  test('counts the settling time from the deadline of a call that was cut off before it', () => {
    const cut = entryOf(answered(entryAt('execute-quote'), LOST));
    expect(cut).toMatchObject({ lastEndedMs: 12_500, phase: { settleAtMs: 13_000 } });
    const refused = entryOf(answered(inDoubt(entryAt('execute-quote')), REFUSED));
    expect(refused).toMatchObject({ lastEndedMs: 12_500, phase: { settleAtMs: 13_000 } });
  });

  test('is used for what waits in doubt, and whose operation left API_IDEMPOTENT_OPERATIONS', () => {
    const keyed = aPolicy({ idempotentOperations: new Set(['execute-quote']) });
    const waiting = entryOf(answered(inDoubt(entryAt('execute-quote')), TOLD_TO_WAIT, keyed));
    expect(waiting.phase.state).toBe('DOUBTFUL');
    expect(due(waiting, 20_000).kind).toBe('look-up');
    expect(resultOf(found(waiting, shown({ status: 'COMPLETED' })))).toMatchObject({ outcome: 'ACCEPTED' });
  });

  test('is used for what has come to be settled by its key meanwhile', () => {
    const keyed = aPolicy({ idempotentOperations: new Set(['execute-quote']) });
    const proven = entryOf(found(doubtful(entryAt('execute-quote')), shown()));
    expect(resultOf(due(proven, 2 * HOUR_MS, keyed))).toMatchObject({ outcome: 'EXPIRED', settledBy: 'LOOKUP' });
  });

  test('is asked for after a conflict, even where the key is honoured, until the time limit', () => {
    const keyed = aPolicy({ idempotentOperations: new Set(['execute-quote']) });
    const conflict = entryOf(answered(inDoubt(entryAt('execute-quote')), CONFLICT, keyed));
    expect(due(conflict, 13_000, keyed).kind).toBe('look-up');
    const again = entryOf(found(conflict, shown(), 13_000));
    expect(again.phase.state).toBe('DOUBTFUL');
    expect(resultOf(found(again, shown(), 2 * HOUR_MS))).toMatchObject({ outcome: 'UNKNOWN' });
    expect(resultOf(found(again, shown({ status: 'PROCESSING' })))).toMatchObject({ outcome: 'ACCEPTED' });
  });

  test.each([
    ['REJECTED', 'ACCEPTED'],
    ['COMPLETED', 'REFUSED'],
    // What a rejection comes to may be shown like this as well.
    ['REFUNDED', 'UNKNOWN'],
    ['FAILED', 'UNKNOWN'],
    ['NEVER_HEARD_OF', 'UNKNOWN'],
  ])('of a rejection that finds %s: %s', (status, outcome) => {
    const finding = shown({ status, type: 'INCOMING' });
    expect(resultOf(found(doubtful(entryAt('reject-transaction')), finding)).outcome).toBe(outcome);
  });

  test.each(['PROCESSING', 'SENT'])('of a rejection that finds %s: looked at again, at last UNKNOWN', (status) => {
    const finding = shown({ status, type: 'INCOMING' });
    const again = entryOf(found(doubtful(entryAt('reject-transaction')), finding));
    expect(again).toMatchObject({ phase: { state: 'DOUBTFUL' }, unexecuted: null });
    expect(resultOf(found(again, finding, 2 * HOUR_MS)).outcome).toBe('UNKNOWN');
    const waitMsAt = (nowMs: number): number => {
      const { phase } = entryOf(found({ ...again, waits: 20, lastEndedMs: 0, deadlineMs: HOUR_MS }, finding, nowMs));
      return phase.state === 'DOUBTFUL' ? phase.settleAtMs - nowMs : 0;
    };
    expect(waitMsAt(20_000)).toBeLessThan(23_000);
    expect(waitMsAt(HOUR_MS / 2)).toBeGreaterThan(60_000);
    expect(resultOf(found(again, shown({ status: 'REJECTED', type: 'INCOMING' }))).outcome).toBe('ACCEPTED');
    expect(resultOf(found(again, shown({ status: 'COMPLETED', type: 'INCOMING' }))).outcome).toBe('REFUSED');
  });
});

describe('a status that showed an effect, and that the service takes back', () => {
  const taken = (entry: Entry, effectStatus: string, status: string, nowMs = 10_000): Decision =>
    decide(entry, { kind: 'looked-up', attempts: 1, finding: shown({ status }), effectStatus, nowMs }, policy);

  test.each(['PROCESSING', 'SENT', 'COMPLETED', 'REFUNDED', 'FAILED'])(
    '%s, then no more: looked at again, at last UNKNOWN',
    (effectStatus) => {
      for (const status of ['PENDING', 'CREATED', 'EXPIRED']) {
        const again = entryOf(taken(doubtful(entryAt('execute-quote')), effectStatus, status));
        expect(again).toMatchObject({ phase: { state: 'DOUBTFUL' }, unexecuted: null });
        const result = resultOf(taken(again, effectStatus, status, 2 * HOUR_MS));
        expect(result.outcome).toBe('UNKNOWN');
        expect(result.error?.message).toContain(`is ${status} now, but was seen ${effectStatus} before`);
      }
    },
  );

  test('a rejection that was seen, and is no more, is UNKNOWN; a payment that goes on cannot be rejected', () => {
    const rejection = doubtful(entryAt('reject-transaction'));
    expect(resultOf(taken(rejection, 'REJECTED', 'PENDING', 2 * HOUR_MS)).outcome).toBe('UNKNOWN');
    for (const perhaps of ['REFUNDED', 'FAILED', 'PROCESSING', 'SENT']) {
      expect(entryOf(taken(rejection, perhaps, 'PENDING')).phase.state).toBe('DOUBTFUL');
      expect(resultOf(taken(rejection, perhaps, perhaps, 2 * HOUR_MS)).outcome).toBe('UNKNOWN');
    }
    expect(resultOf(taken(rejection, 'PROCESSING', 'COMPLETED')).outcome).toBe('REFUSED');
    expect(resultOf(taken(rejection, 'REJECTED', 'REJECTED')).outcome).toBe('ACCEPTED');
  });
});

describe('what a look-up finds is compared with what is known', () => {
  const executing = doubtful({
    ...entryAt('create-quote'),
    immediate: true,
    step: 'EXECUTE',
    quoted: aQuoted({
      customerId: 'Customer:1',
      sourceAccountId: 'InternalAccount:1',
      destinationAccountId: 'ExternalAccount:2',
      receivingAmount: '90',
      receivingCurrencyCode: 'EUR',
    }),
  });
  const account = (accountId: string | null) => ({ accountId, currency: null, otherFieldsJson: null });
  const received = (amount: bigint | null, code: string) => ({
    amount,
    currency: { code, name: null, symbol: null, decimals: null, otherFieldsJson: null },
    otherFieldsJson: null,
  });
  const same: Partial<Transaction> = {
    status: 'COMPLETED',
    source: { sourceType: 'ACCOUNT', ...account('InternalAccount:1') },
    destination: { destinationType: 'ACCOUNT', ...account('ExternalAccount:2') },
    receivedAmount: received(90n, 'EUR'),
    otherFieldsJson: '{"quoteId":"Quote:1"}',
  };

  test.each([
    ['all of it', same],
    ['none of it', { status: 'COMPLETED' }],
    [
      'empty texts',
      { status: 'COMPLETED', otherFieldsJson: '{"quoteId":""}', source: { sourceType: 'ACCOUNT', ...account('') } },
    ],
    ['an amount that is not known yet', { ...same, receivedAmount: received(0n, 'EUR') }],
  ])('the same payment, which shows %s', (_name, changes) => {
    expect(resultOf(found(executing, shown(changes))).outcome).toBe('ACCEPTED');
  });

  test.each([
    ['quote', { otherFieldsJson: '{"quoteId":"Quote:2"}' }],
    ['source account', { source: { sourceType: 'ACCOUNT', ...account('InternalAccount:9') } }],
    ['destination account', { destination: { destinationType: 'ACCOUNT', ...account('ExternalAccount:9') } }],
    ['received amount', { receivedAmount: received(91n, 'EUR') }],
    ['received currency', { receivedAmount: received(90n, 'USD') }],
  ])('another %s: no finding, whatever its status', (what, changes) => {
    for (const status of ['COMPLETED', 'PENDING', 'EXPIRED']) {
      const decision = found(executing, shown({ ...same, ...changes, status }));
      const { error: problem, outcome, transaction } = resultOf(decision);
      expect(outcome).toBe('UNKNOWN');
      expect(problem?.message).toContain(`differs in: ${what}.`);
      expect(transaction).toBeNull();
    }
  });

  test('the quote of an execute-quote is known from its command', () => {
    const finding = shown({ status: 'COMPLETED', otherFieldsJson: '{"quoteId":"Quote:2"}' });
    expect(resultOf(found(doubtful(entryAt('execute-quote')), finding)).outcome).toBe('UNKNOWN');
  });

  test('a payment that goes out cannot have been rejected', () => {
    const finding = shown({ status: 'REJECTED', type: 'OUTGOING' });
    expect(resultOf(found(doubtful(entryAt('reject-transaction')), finding)).outcome).toBe('UNKNOWN');
  });
});

describe('EXPIRED says what is certain', () => {
  const late = 2 * HOUR_MS;
  const parked = { state: 'PARKED', untilMs: 0, reason: '' } as const;

  test('nothing was sent', () => {
    const result = resultOf(due({ ...entryAt('transfer-in'), phase: parked }, late));
    expect(result.error?.message).toMatch(/^its time limit \(.*\) passed before anything was sent$/);
  });

  test('calls were sent, and answered with 429', () => {
    const result = resultOf(due(entryOf(answered(entryAt('transfer-in'), TOLD_TO_WAIT)), late));
    expect(result).toMatchObject({ outcome: 'EXPIRED', attempts: 1 });
    expect(result.error?.message).not.toContain('anything was sent');
  });

  test('a call whose answer was dropped by a fault of our own is in doubt, for an operator as well', () => {
    const drop = { kind: 'failed' as const, nowMs: 3_000, problem: 'a bug' };
    const dropped = decide({ ...entryAt('transfer-in'), drops: 2 }, drop, policy);
    expect(resultOf(dropped)).toMatchObject({ outcome: 'UNKNOWN', attempts: 1 });
    if (dropped.kind !== 'finish') return;
    const entry = doneWith({ ...dropped.entry, phase: parked }, 'UNKNOWN');
    expect(resultOf(due({ ...retried(entry, 4_000), deadlineMs: 4_000 }, 5_000)).outcome).toBe('UNKNOWN');
  });

  test('a call of which no answer came where nothing can settle it is in doubt, for an operator as well', () => {
    const lost = answered(entryAt('transfer-in'), LOST, nothingHonoured);
    if (lost.kind !== 'finish') throw new Error(lost.kind);
    expect(lost.entry.firstSentMs).toBe(1_000);
  });
});

describe('an answer that need not be the service\u2019s word', () => {
  test.each(['execute-quote', 'reject-transaction'] as const)(
    'a refusal of a %s that was answered with 429 before is looked up: that may not have been the service',
    (commandType) => {
      const turnedAway = entryOf(answered(entryAt(commandType), TOLD_TO_WAIT));
      for (const refusal of [CONFLICT, REFUSED]) {
        const refused = entryOf(answered(entryOf(due(turnedAway, 11_000)), refusal));
        expect(refused.phase).toMatchObject({ state: 'DOUBTFUL', refusal: { error } });
        const done = commandType === 'execute-quote' ? 'COMPLETED' : 'REJECTED';
        expect(resultOf(found(refused, shown({ status: done }), 20_000))).toMatchObject({
          outcome: 'ACCEPTED',
          settledBy: 'LOOKUP',
        });
      }
    },
  );

  test('the first refusal of a quote\u2019s execution is the service\u2019s, though its quote was answered with 429 before', () => {
    expect(resultOf(answered(entryAt('execute-quote'), CONFLICT)).outcome).toBe('REFUSED');
  });

  test.each([403, 405, 423])('%i after doubt does not speak for the first call, even with its key', (httpStatus) => {
    const kind = httpStatus < 406 ? 'not-here' : 'refused';
    const refusal: Reading = { kind, httpStatus, serviceFails: false, error, rawResponse: '' };
    expect(entryOf(answered(inDoubt(entryAt('transfer-in')), refusal)).phase.state).toBe('DOUBTFUL');
  });

  test('a refusal does not speak for a first call that may still be under way, even with its key', () => {
    // It was so when this call came, at 11,500 ms or later; its answer takes until 12,000 ms.
    const underWay = { ...inDoubt(entryAt('transfer-in')), lastEndedMs: 11_001 };
    const inProgress: Reading = { ...REFUSED, httpStatus: 422 };
    expect(entryOf(answered(underWay, inProgress))).toMatchObject({
      phase: { state: 'DOUBTFUL' },
      lastEndedMs: 11_001,
    });
    expect(resultOf(answered({ ...underWay, lastEndedMs: 11_000 }, REFUSED)).outcome).toBe('REFUSED');
  });

  test('a 409 for a transfer-in that was answered with 429 before is doubt: its key may be in use by that call', () => {
    const turnedAway = entryOf(answered(entryAt('transfer-in'), TOLD_TO_WAIT));
    const conflict = entryOf(answered(entryOf(due(turnedAway, 11_000)), CONFLICT));
    expect(resultOf(due(conflict, 2 * HOUR_MS)).outcome).toBe('UNKNOWN');
  });

  test('an answer about another quote or transaction is doubt', () => {
    const quote = readQuote({ id: 'Quote:another' })?.value ?? null;
    const transaction = aTransaction({ id: 'Transaction:another' });
    const execution = answered(entryAt('execute-quote'), { ...ACCEPTED, quote, transaction: null });
    const rejection = answered(entryAt('reject-transaction'), { ...ACCEPTED, quote: null, transaction });
    for (const decision of [execution, rejection]) {
      expect(decision).toMatchObject({ kind: 'next', seen: null, entry: { phase: { state: 'DOUBTFUL' } } });
      expect(entryOf(decision).firstSentMs).toBe(1_000);
    }
  });

  test('a quote of other accounts than the command\u2019s is passed on with a warning', () => {
    const warningsFor = (accountId: string): string[] => {
      const account = { sourceType: 'ACCOUNT', accountId };
      const quote = readQuote({ id: 'Quote:1', transactionId: 'Transaction:1', source: account })?.value ?? null;
      return resultOf(answered(entryAt('create-quote'), { ...ACCEPTED, quote, transaction: null })).warnings;
    };
    expect(warningsFor('InternalAccount:1')).toEqual([]);
    expect(warningsFor('InternalAccount:7')).toEqual(["the answer's source account differs from the command's"]);
  });

  test('an answer that shows a transfer-in otherwise than it was asked for is passed on with a warning', () => {
    const shownAs = (amount: bigint): string[] => {
      const transaction = aTransaction({ receivedAmount: { amount, currency: null, otherFieldsJson: null } });
      const decision = answered(entryAt('transfer-in'), { ...ACCEPTED, quote: null, transaction });
      return resultOf(decision).warnings;
    };
    expect(shownAs(5n)).toEqual([]);
    expect(shownAs(777n)).toEqual(["the answer's amount differs from the command's"]);
  });

  test('an answer that names another transaction than the execution of its quote is passed on with a warning', () => {
    const warningsFor = (transactionId: string): string[] => {
      const quote = readQuote({ id: 'Quote:1', transactionId })?.value ?? null;
      const decision = answered(entryAt('execute-quote'), { ...ACCEPTED, quote, transaction: null });
      return resultOf(decision).warnings;
    };
    expect(warningsFor('Transaction:1')).toEqual([]);
    expect(warningsFor('Transaction:7')).toEqual(["the answer's transaction differs from the command's"]);
  });

  test('a call in doubt is repeated once more before its time limit, and given up at the limit, not after it', () => {
    const late = { ...inDoubt(entryAt('transfer-in')), waits: 9, deadlineMs: 15_000 };
    const lastTry = entryOf(answered(late, LOST));
    expect(lastTry.phase).toMatchObject({ state: 'DOUBTFUL', settleAtMs: 14_000 });
    expect(entryOf(due(lastTry, 14_000)).phase.state).toBe('INTENT');
    const tooLate = entryOf(answered({ ...late, deadlineMs: 12_500 }, LOST));
    expect(tooLate.phase).toMatchObject({ state: 'DOUBTFUL', settleAtMs: 12_500 });
    expect(resultOf(due(tooLate, 12_500)).outcome).toBe('UNKNOWN');
  });

  test('an incoming payment is no finding for an execution', () => {
    const finding = shown({ status: 'COMPLETED', type: 'INCOMING' });
    expect(resultOf(found(doubtful(entryAt('execute-quote')), finding)).outcome).toBe('UNKNOWN');
  });

  test('a page of a proxy, whether the service answers otherwise or not, is doubt: nothing is repeated that nothing protects', () => {
    const page: Reading = {
      kind: 'not-here',
      httpStatus: 403,
      serviceFails: false,
      error: { ...error, code: null },
      rawResponse: '',
    };
    expect(resultOf(answered(entryAt('transfer-in'), page, nothingHonoured)).outcome).toBe('UNKNOWN');
    expect(entryOf(answered(entryAt('transfer-in'), page)).phase.state).toBe('DOUBTFUL');
    expect(entryOf(answered(entryAt('transfer-in'), { ...page, serviceFails: true })).phase.state).toBe('DOUBTFUL');
  });

  describe('a two-step quote that ran out after its execution was answered with 429', () => {
    const quoted = aQuoted({ expiresAtMs: 15_000, receivedMs: 5_000 });
    const execution: Entry = { ...entryAt('create-quote'), immediate: true, step: 'EXECUTE', quoted };
    const turnedAway = entryOf(answered(execution, TOLD_TO_WAIT));

    test('is not bought again before its transaction was looked up', () => {
      const doubt = entryOf(due(turnedAway, 16_000));
      expect(doubt.phase).toMatchObject({ state: 'DOUBTFUL', settleAtMs: 17_500 });
      expect(due(doubt, 17_500)).toMatchObject({ kind: 'look-up', query: { transactionId: 'Transaction:1' } });
      expect(resultOf(found(doubt, shown({ status: 'COMPLETED' }), 17_500))).toMatchObject({ outcome: 'ACCEPTED' });
    });

    test('is ACCEPTED where that shows FAILED by OFFRAMP_FAILED: it was executed, and is not bought again', () => {
      const failed = shown({ status: 'FAILED', failureReason: 'OFFRAMP_FAILED' });
      const result = resultOf(found(entryOf(due(turnedAway, 16_000)), failed, 17_500));
      expect(result).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'LOOKUP' });
    });

    test.each([
      ['EXPIRED', { status: 'EXPIRED' }],
      ['FAILED by QUOTE_EXPIRED', { status: 'FAILED', failureReason: 'QUOTE_EXPIRED' }],
    ])('is bought again where that shows %s: the first was not executed', (_what, transaction) => {
      const doubt = entryOf(due(turnedAway, 16_000));
      const again = entryOf(due(entryOf(found(doubt, shown(transaction), 17_500)), 17_500));
      expect(again).toMatchObject({ step: 'CREATE', firstSentMs: null, unexecuted: null, phase: { state: 'INTENT' } });
    });

    test('is not bought again on a look-up that was made while it lived', () => {
      const proven = entryOf(found(doubtful(execution), shown({ status: 'PENDING' }), 14_000));
      const waited = entryOf(due(proven, 16_000));
      expect([waited.step, proofOf(waited), waited.phase.state]).toEqual(['EXECUTE', null, 'DOUBTFUL']);
      expect(due(waited, 16_000).kind).toBe('look-up');
      expect(resultOf(found(waited, shown({ status: 'COMPLETED' }), 16_000)).outcome).toBe('ACCEPTED');
    });

    test('is looked up again while that shows PENDING: an executed payment may stay so', () => {
      const waited = entryOf(due(entryOf(due(turnedAway, 16_000)), 16_000));
      const pending = entryOf(found(waited, shown({ status: 'PENDING' }), 17_500));
      expect(pending).toMatchObject({ step: 'EXECUTE', unexecuted: null, phase: { state: 'DOUBTFUL' } });
      expect(entryOf(found(pending, shown({ status: 'EXPIRED' }), 18_000)).step).toBe('CREATE');
      const late = { ...pending, deadlineMs: 18_000 };
      const end = resultOf(found(late, shown({ status: 'PENDING' }), 18_000));
      expect(end).toMatchObject({
        outcome: 'UNKNOWN',
        error: { message: expect.stringContaining('still PENDING') as string },
      });
    });
  });

  test('a wait that the service asks for ends with the time limit', () => {
    const entry = { ...entryAt('transfer-in'), deadlineMs: 20_000 };
    const parked = entryOf(answered(entry, { ...TOLD_TO_WAIT, retryAfterMs: 900_000 }));
    expect(parked.phase).toMatchObject({ state: 'PARKED', untilMs: 20_000 });
  });
});
