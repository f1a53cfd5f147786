/**
 * The core: computes an entry's next state from an event. Pure: time and ids come with the event.
 *
 * Each event fits certain phases. An event that does not fit (such as an answer to an outdated attempt) changes
 * nothing. This file enforces invariants I1, I2, I3, I5 and I10.
 */
import { tryAgainAtMs } from './back-off.ts';
import type { Decision, LedgerEvent, Seen } from './decision.ts';
import { COPIES_MAX, NO_CALLS, proofOf, type Entry } from './entry.ts';
import { mismatchedSubject, mismatchWarnings, quotedOf } from './found-payment.ts';
import { OPERATIONS } from './operations.ts';
import { planOf } from './plan.ts';
import { requoted } from './quote-again.ts';
import { acceptedResult, expiredResult, failedResult, refusedResult, unknownResult } from './result-record.ts';
import { lookedUp } from './settle-by-look-up.ts';
import { lookUpFromMs, operationOf, settlementOf, type LedgerPolicy } from './settlement.ts';
import { doubtful, finish, inDoubt, intentOf, next, possiblySent, reasonOf, waiting } from './transitions.ts';
import { verdictOf, type Verdict } from './verdict.ts';
import { withinReach } from './wrong-clocks.ts';

/** A quote with one of these statuses was not executed. */
const UNEXECUTED_STATUSES: ReadonlySet<string> = new Set(['PENDING', 'EXPIRED']);
/** `attempts` of a proof that no longer holds: they match no entry's. */
const NO_ATTEMPTS = -1;

/** Failures of our own code after which an entry or a message is set aside (invariant I6). */
export const FAILURES_MAX = 3;

const UNCHANGED: Decision = { kind: 'unchanged' };

export function decide(entry: Entry, event: LedgerEvent, policy: LedgerPolicy): Decision {
  switch (event.kind) {
    case 'answered':
      return answered(entry, event, policy);
    case 'due':
      return due(entry, event, policy);
    case 'orphaned':
      if (entry.phase.state !== 'INTENT') return UNCHANGED;
      return next(
        inDoubt(
          entry,
          entry.phase.atMs,
          'the process that began the call is gone',
          event.endedMs,
          event.endedMs,
          policy,
        ),
      );
    case 'not-begun':
      if (entry.phase.state !== 'INTENT' || entry.phase.attemptId !== event.attemptId) return UNCHANGED;
      return next(waiting(entry, event.nowMs, event.reason));
    case 'looked-up':
      return lookedUp(entry, event);
    case 'copied':
      if (entry.phase.state === 'DONE' || entry.copies.length >= COPIES_MAX) return UNCHANGED;
      return next({ ...entry, copies: [...entry.copies, event.copy] });
    case 'failed':
      return failed(entry, event, policy);
  }
}

function due(dueEntry: Entry, event: Extract<LedgerEvent, { kind: 'due' }>, policy: LedgerPolicy): Decision {
  if (dueEntry.phase.state === 'INTENT' || dueEntry.phase.state === 'DONE') return UNCHANGED;
  const entry = withinReach(dueEntry, event.nowMs, policy);
  const plan = planOf(entry, event.nowMs, policy);
  switch (plan.kind) {
    case 'call':
      return next(intentOf(entry, event.attempt, policy));
    case 'quote-again': {
      const again = requoted(entry, plan, event.nowMs);
      return next(plan.pauseMs === 0 ? intentOf(again, event.attempt, policy) : again);
    }
    case 'expire': {
      const ended = 'quotesRunOut' in plan ? { ...entry, quotesRunOut: plan.quotesRunOut } : entry;
      return finish(ended, expiredResult(ended, plan.reason, plan.settledBy, event.nowMs));
    }
    case 'doubt': {
      const reason = 'reason' in entry.phase ? entry.phase.reason : 'a call got no clear answer';
      const refusal = entry.phase.state === 'DOUBTFUL' ? entry.phase.refusal : null;
      const { endedMs } = plan;
      // An earlier proof no longer counts: it must be established again. Its `by` stays, because the key cannot settle
      // this doubt (`settlementOf`).
      const unexecuted = entry.unexecuted?.by === 'LOOK_UP' ? { ...entry.unexecuted, attempts: NO_ATTEMPTS } : null;
      const unproven = { firstSentMs: entry.firstSentMs ?? event.nowMs, lastEndedMs: endedMs, unexecuted };
      const settleAtMs = Math.max(event.nowMs, lookUpFromMs(endedMs, policy));
      return next(doubtful({ ...entry, ...unproven }, reason, settleAtMs, refusal));
    }
    case 'look-up':
      return { kind: 'look-up', query: plan.query };
    case 'give-up':
      return finish(entry, unknownResult(entry, reasonOf(entry, plan.reason), event.nowMs));
  }
}

function answered(entry: Entry, event: Extract<LedgerEvent, { kind: 'answered' }>, policy: LedgerPolicy): Decision {
  const { phase } = entry;
  if (phase.state !== 'INTENT' || phase.attemptId !== event.attemptId) return UNCHANGED;
  const settlement = settlementOf(entry, policy);
  // Where nothing else can settle a doubt, an operator's decision does.
  const proof = proofOf(entry);
  const isDecidedByOperator = settlement === 'NONE' && proof?.by === 'OPERATOR';
  const isLookedUp = OPERATIONS[operationOf(entry)].lookUp !== null;
  const isConflict = event.reading.kind === 'conflict';
  // A proxy, not the service, may have deferred an earlier call. If the service took that call, it may say so only now.
  const isRepeated =
    entry.turnedAway > 0 && (isLookedUp || (isConflict && settlement !== 'HARMLESS' && settlement !== 'SANDBOX'));
  const verdict = verdictOf(event.reading, settlement, {
    inDoubt: isRepeated || (entry.firstSentMs !== null && !(isDecidedByOperator && !isConflict)),
    mayBeUnderWay: entry.lastEndedMs !== null && event.beganMs < lookUpFromMs(entry.lastEndedMs, policy),
    canBeLookedUp: isLookedUp,
  });
  const { nowMs } = event;
  const call = {
    sentMs: phase.atMs,
    // A call that was cut off before its deadline may still reach the service.
    endedMs: Math.max(nowMs, event.beganMs + phase.timeoutMs),
    nowMs,
  };
  const sent = { ...entry, attempts: entry.attempts + 1 };
  switch (verdict.kind) {
    case 'accepted': {
      const other = mismatchedSubject(entry, verdict);
      if (other === null) return accepted(sent, verdict, phase.atMs, nowMs);
      return doubt(entry, `HTTP ${verdict.httpStatus}, but the answer is about another ${other}`, call, policy);
    }
    case 'refused':
      return finish(sent, refusedResult(sent, verdict, isDecidedByOperator ? 'OPERATOR' : 'ANSWER', nowMs));
    case 'wait': {
      const deferred = verdict.sent ? { ...sent, turnedAway: entry.turnedAway + 1 } : entry;
      const unexecuted = proof === null ? null : { ...proof, attempts: deferred.attempts };
      const again = { ...deferred, waits: entry.waits + 1, unexecuted };
      return next(waiting(again, tryAgainAtMs(entry, nowMs, verdict.afterMs ?? 0), verdict.reason));
    }
    case 'doubt':
      return doubt(entry, verdict.reason, call, policy);
    case 'look-up': {
      // This refusal is newer than any proof: the quote may have expired since, or the service may have taken an earlier call.
      const unsettled = possiblySent(entry, call.sentMs, call.endedMs);
      return next(doubtful(unsettled, verdict.reason, lookUpFromMs(call.endedMs, policy), verdict.refusal));
    }
    case 'undecidable': {
      const unsettled = possiblySent(entry, call.sentMs, call.endedMs);
      return finish(unsettled, unknownResult(unsettled, verdict.reason, nowMs));
    }
  }
}

function doubt(
  entry: Entry,
  reason: string,
  { sentMs, endedMs, nowMs }: { sentMs: number; endedMs: number; nowMs: number },
  policy: LedgerPolicy,
): Decision {
  if (settlementOf(entry, policy) === 'NONE') {
    const unsettled = possiblySent(entry, sentMs, endedMs);
    return finish(unsettled, unknownResult(unsettled, reason, nowMs));
  }
  return next(inDoubt(entry, sentMs, reason, endedMs, tryAgainAtMs(entry, nowMs), policy));
}

function accepted(
  entry: Entry,
  verdict: Extract<Verdict, { kind: 'accepted' }>,
  sentMs: number,
  nowMs: number,
): Decision {
  const seen: Seen = { quote: verdict.quote, transaction: verdict.transaction };
  const warnings = [...verdict.warnings, ...mismatchWarnings(entry, verdict)];
  if (entry.step !== 'CREATE') return finish(entry, acceptedResult(entry, { ...verdict, warnings }, nowMs), seen);
  const { quote } = verdict;
  const isSameQuote = quote !== null && quote.id === entry.quoted?.quoteId;
  if (isSameQuote && !UNEXECUTED_STATUSES.has(quote.status ?? 'PENDING')) {
    const reason = `the service returns the same quote for this key, and its status is ${quote.status}`;
    // An operator decides about that quote's transaction.
    const ended: Entry = { ...entry, step: 'EXECUTE', ...NO_CALLS };
    return finish(ended, unknownResult(ended, `${reason}: another command may have executed it`, nowMs), seen);
  }
  if (quote?.status === 'PROCESSING' || quote?.status === 'COMPLETED') {
    // We did not ask for that. Executing this quote would be refused, and executing another would pay twice.
    warnings.push(`the service executed the quote as soon as it created it: its status is ${quote.status}`);
    return finish(entry, acceptedResult(entry, { ...verdict, warnings }, nowMs), seen);
  }
  if (quote === null || quote.transactionId === null) {
    // Without the transaction's id we could not settle a lost answer to the execution: ask again before any money moves.
    const again = { ...entry, firstSentMs: entry.firstSentMs ?? sentMs, lastEndedMs: nowMs };
    const settleAtMs = tryAgainAtMs(entry, nowMs);
    return { kind: 'next', entry: doubtful(again, 'the quote came without a transactionId', settleAtMs), seen };
  }
  if (isSameQuote) {
    const limit = quote.expiresAt === null ? 'its quote expired' : `its quote's expiresAt, ${quote.expiresAt}, passed`;
    const reason = `${limit} before this command could execute it, and the service returns the same quote for this key`;
    return finish(entry, expiredResult(entry, reason, 'PROCESSOR', nowMs), seen);
  }
  const quoted = quotedOf(entry, { ...quote, transactionId: quote.transactionId }, nowMs);
  return {
    kind: 'next',
    seen,
    entry: {
      ...entry,
      step: 'EXECUTE',
      ...NO_CALLS,
      waits: 0,
      quoted,
      phase: { state: 'QUOTED' },
    },
  };
}

function failed(entry: Entry, event: Extract<LedgerEvent, { kind: 'failed' }>, policy: LedgerPolicy): Decision {
  const { phase } = entry;
  if (phase.state === 'DONE') return UNCHANGED;
  const drops = entry.drops + 1;
  const { nowMs, problem } = event;
  if (phase.state === 'INTENT') {
    // The failure lost the content of the call's answer.
    const endedMs = nowMs + phase.timeoutMs;
    if (drops < FAILURES_MAX) return next({ ...inDoubt(entry, phase.atMs, problem, endedMs, endedMs, policy), drops });
    const aside = { ...possiblySent(entry, phase.atMs, endedMs), drops };
    return finish(aside, unknownResult(aside, `it was set aside: ${problem}`, nowMs));
  }
  const aside = { ...entry, drops };
  if (drops < FAILURES_MAX) return next(aside);
  return entry.firstSentMs === null
    ? finish(aside, failedResult(aside, problem, nowMs))
    : finish(aside, unknownResult(aside, `it was set aside: ${problem}`, nowMs));
}
