/**
 * The heart: what becomes of an entry when something happens. Pure: time and ids come with the event.
 *
 * Each event is about one phase; an event that does not fit the phase (an answer to an attempt that is no longer the
 * present one) changes nothing. Invariants I1, I2, I3, I5 and I10 are decided here.
 */
import type { Reading } from '../api/types.ts';
import type { CommandResult, Quote, Transaction } from '../records/types.ts';
import { backOffMs } from './back-off.ts';
import { COPIES_MAX, type Copy, type Entry, type UnphasedEntry } from './entry.ts';
import { acceptedResult, expiredResult, failedResult, refusedResult, unknownResult } from './result-record.ts';
import { operationOf, settlementOf, type LedgerPolicy } from './settlement.ts';
import { verdictOf, type Verdict } from './verdict.ts';

export type LedgerEvent =
  /** The call of the attempt ended. */
  | { kind: 'answered'; attemptId: string; reading: Reading; nowMs: number }
  /** The instant of a parked, doubtful or quoted entry has come, and a call may be made. */
  | { kind: 'due'; nowMs: number; attemptId: string; processId: string }
  /** The INTENT is another process's, or one that this process cannot vouch for. */
  | { kind: 'orphaned'; settleAtMs: number }
  /** It is certain that the call of the present INTENT was not begun, and it will not be by this intent. */
  | { kind: 'not-begun'; attemptId: string; nowMs: number; reason: string }
  /** Another message with this key and content. */
  | { kind: 'copied'; copy: Copy }
  /** Handling this entry made our own code fail. */
  | { kind: 'dropped'; nowMs: number; problem: string };

/** What an answer showed, to be observed by the status part. */
export interface Seen {
  quote: Quote | null;
  transaction: Transaction | null;
}

export type Decision =
  | { kind: 'unchanged' }
  | { kind: 'next'; entry: Entry; seen: Seen | null }
  /** The entry is done with this result, once the event is encoded. */
  | { kind: 'finish'; entry: UnphasedEntry; result: CommandResult; seen: Seen | null };

/** After how many failures of our own code an entry is set aside (invariant I6). */
export const DROPS_MAX = 3;

const UNCHANGED: Decision = { kind: 'unchanged' };

export function decide(entry: Entry, event: LedgerEvent, policy: LedgerPolicy): Decision {
  switch (event.kind) {
    case 'answered':
      return answered(entry, event, policy);
    case 'due':
      return due(entry, event, policy);
    case 'orphaned':
      if (entry.phase.state !== 'INTENT') return UNCHANGED;
      return next({
        ...possiblySent(entry, entry.phase.atMs),
        phase: { state: 'DOUBTFUL', settleAtMs: event.settleAtMs, reason: 'the process that began the call is gone' },
      });
    case 'not-begun':
      if (entry.phase.state !== 'INTENT' || entry.phase.attemptId !== event.attemptId) return UNCHANGED;
      return next({ ...entry, phase: { state: 'PARKED', untilMs: event.nowMs, reason: event.reason } });
    case 'copied':
      if (entry.phase.state === 'DONE' || entry.copies.length >= COPIES_MAX) return UNCHANGED;
      return next({ ...entry, copies: [...entry.copies, event.copy] });
    case 'dropped':
      return dropped(entry, event, policy);
  }
}

type Plan =
  { kind: 'call'; quoteAgain: boolean } | { kind: 'expire'; reason: string } | { kind: 'give-up'; reason: string };

/** What is to be done with an entry that is due. */
function planOf(entry: Entry, nowMs: number, policy: LedgerPolicy): Plan {
  const tooLate = nowMs >= entry.deadlineMs;
  if (entry.firstSentMs === null) {
    if (tooLate) return { kind: 'expire', reason: 'its time limit passed before anything was sent' };
    const quoteExpiresAtMs = entry.step === 'EXECUTE' ? (entry.quoted?.expiresAtMs ?? null) : null;
    return { kind: 'call', quoteAgain: quoteExpiresAtMs !== null && quoteExpiresAtMs <= nowMs };
  }
  switch (settlementOf(entry, policy)) {
    case 'SAME_KEY':
      if (tooLate)
        return {
          kind: 'give-up',
          reason: 'a call got no clear answer, and its time limit passed before it could be repeated',
        };
      if (nowMs - entry.firstSentMs >= policy.idempotencyRetentionMs) {
        return {
          kind: 'give-up',
          reason: 'a call got no clear answer, and the service may have forgotten the key since',
        };
      }
      return { kind: 'call', quoteAgain: false };
    case 'HARMLESS':
      if (!tooLate) return { kind: 'call', quoteAgain: false };
      if (operationOf(entry) === 'create-quote') {
        return {
          kind: 'expire',
          reason: 'its time limit passed before a quote was received; a quote that is not executed moves nothing',
        };
      }
      return { kind: 'give-up', reason: 'a call got no clear answer, and its time limit passed' };
    case 'LOOK_UP':
    case 'NONE':
      return {
        kind: 'give-up',
        reason: entry.phase.state === 'DOUBTFUL' ? entry.phase.reason : 'a call got no clear answer',
      };
  }
}

function due(entry: Entry, event: Extract<LedgerEvent, { kind: 'due' }>, policy: LedgerPolicy): Decision {
  if (entry.phase.state === 'INTENT' || entry.phase.state === 'DONE') return UNCHANGED;
  const plan = planOf(entry, event.nowMs, policy);
  switch (plan.kind) {
    case 'call':
      return next({
        ...entry,
        step: plan.quoteAgain ? 'CREATE' : entry.step,
        phase: {
          state: 'INTENT',
          attemptId: event.attemptId,
          processId: event.processId,
          atMs: event.nowMs,
          timeoutMs: policy.apiTimeoutMs,
        },
      });
    case 'expire':
      return finish(entry, expiredResult(entry, plan.reason, event.nowMs));
    case 'give-up':
      return finish(entry, unknownResult(entry, plan.reason, event.nowMs));
  }
}

function answered(entry: Entry, event: Extract<LedgerEvent, { kind: 'answered' }>, policy: LedgerPolicy): Decision {
  const { phase } = entry;
  if (phase.state !== 'INTENT' || phase.attemptId !== event.attemptId) return UNCHANGED;
  const settlement = settlementOf(entry, policy);
  const verdict = verdictOf(event.reading, settlement, entry.firstSentMs !== null);
  const { nowMs } = event;
  const called = { ...entry, attempts: entry.attempts + 1 };
  switch (verdict.kind) {
    case 'accepted':
      return accepted(called, verdict, phase.atMs, nowMs);
    case 'refused':
      return finish(called, refusedResult(called, verdict, nowMs));
    case 'wait':
      return next({
        ...(verdict.sent ? called : entry),
        waits: entry.waits + 1,
        phase: {
          state: 'PARKED',
          untilMs: nowMs + (verdict.afterMs ?? backOffMs(entry.key, entry.waits)),
          reason: verdict.reason,
        },
      });
    case 'doubt': {
      if (settlement === 'NONE') return finish(called, unknownResult(called, verdict.reason, nowMs));
      return next(doubtful(possiblySent(entry, phase.atMs), verdict.reason, nowMs));
    }
    case 'look-up':
      return next({
        ...called,
        waits: entry.waits + 1,
        phase: { state: 'DOUBTFUL', settleAtMs: nowMs + policy.settlingTimeMs, reason: verdict.reason },
      });
    case 'undecidable':
      return finish(called, unknownResult(called, verdict.reason, nowMs));
  }
}

function accepted(
  entry: Entry,
  verdict: Extract<Verdict, { kind: 'accepted' }>,
  sentMs: number,
  nowMs: number,
): Decision {
  const seen: Seen = { quote: verdict.quote, transaction: verdict.transaction };
  if (entry.step !== 'CREATE') return finish(entry, acceptedResult(entry, verdict, 'ANSWER', nowMs), seen);
  const { quote } = verdict;
  if (quote?.transactionId == null) {
    // Without the transaction's id a lost answer to the execution could not be settled: ask again before any money moves.
    const doubt = { ...entry, firstSentMs: entry.firstSentMs ?? sentMs };
    return { kind: 'next', entry: doubtful(doubt, 'the quote came without a transactionId', nowMs), seen };
  }
  if (quote.id === entry.quoted?.quoteId) {
    return finish(
      entry,
      expiredResult(
        entry,
        'its quote expired before execution, and the service repeats that quote for this key',
        nowMs,
      ),
      seen,
    );
  }
  const expiresAtMs = quote.expiresAt === null ? NaN : Date.parse(quote.expiresAt);
  return {
    kind: 'next',
    seen,
    entry: {
      ...entry,
      step: 'EXECUTE',
      firstSentMs: null,
      waits: 0,
      quoted: {
        quoteId: quote.id,
        transactionId: quote.transactionId,
        customerId: quote.source?.customerId ?? null,
        expiresAtMs: Number.isNaN(expiresAtMs) ? null : expiresAtMs,
      },
      phase: { state: 'QUOTED' },
    },
  };
}

function dropped(entry: Entry, event: Extract<LedgerEvent, { kind: 'dropped' }>, policy: LedgerPolicy): Decision {
  if (entry.phase.state === 'DONE') return UNCHANGED;
  const drops = entry.drops + 1;
  if (drops < DROPS_MAX) {
    if (entry.phase.state !== 'INTENT') return next({ ...entry, drops });
    // What the call's answer said is lost with the failure.
    const settleAtMs = event.nowMs + entry.phase.timeoutMs + policy.settlingTimeMs;
    return next({
      ...possiblySent(entry, entry.phase.atMs),
      drops,
      phase: { state: 'DOUBTFUL', settleAtMs, reason: event.problem },
    });
  }
  const aside = { ...entry, drops };
  const neverSent = entry.firstSentMs === null && entry.phase.state !== 'INTENT';
  return neverSent
    ? finish(aside, failedResult(aside, event.problem, event.nowMs))
    : finish(aside, unknownResult(aside, `it was set aside: ${event.problem}`, event.nowMs));
}

/** The entry once a call of it may have been sent. */
function possiblySent(entry: Entry, sentMs: number): Entry {
  return { ...entry, attempts: entry.attempts + 1, firstSentMs: entry.firstSentMs ?? sentMs };
}

function doubtful(entry: Entry, reason: string, nowMs: number): Entry {
  const phase = { state: 'DOUBTFUL' as const, settleAtMs: nowMs + backOffMs(entry.key, entry.waits), reason };
  return { ...entry, waits: entry.waits + 1, phase };
}

function next(entry: Entry): Decision {
  return { kind: 'next', entry, seen: null };
}

function finish(entry: UnphasedEntry, result: CommandResult, seen: Seen | null = null): Decision {
  return { kind: 'finish', entry, result, seen };
}
