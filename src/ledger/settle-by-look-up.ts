/** Decides on an entry in doubt after a look-up of its transaction. Pure. */
import { backOffMs, LONGEST_WAIT_MS } from './back-off.ts';
import type { Decision, LedgerEvent, Seen } from './decision.ts';
import type { Entry, HeldRefusal } from './entry.ts';
import { differencesFrom } from './found-payment.ts';
import { mayHaveTakenEffect, OPERATIONS } from './operations.ts';
import { quoteAgainOf, requoted } from './quote-again.ts';
import {
  executedResult,
  expiredResult,
  foundRefusedResult,
  refusedResult,
  statusInWords,
  unknownResult,
} from './result-record.ts';
import { operationOf } from './settlement.ts';
import { doubtful, finish, next, reasonOf } from './transitions.ts';

const HTTP_CONFLICT = 409;
const REJECTION_WAIT_MS_MAX = 300_000;

export function lookedUp(entry: Entry, event: Extract<LedgerEvent, { kind: 'looked-up' }>): Decision {
  const { phase } = entry;
  // A look-up requested before the latest attempt says nothing about that attempt.
  if (phase.state !== 'DOUBTFUL' || event.attempts !== entry.attempts) return { kind: 'unchanged' };
  const { finding, nowMs } = event;
  if (finding.kind === 'failed')
    return next(doubtful(entry, phase.reason, nowMs + backOffMs(entry.key, entry.waits), phase.refusal));
  if (finding.kind === 'not-found') {
    return finish(entry, unknownResult(entry, reasonOf(entry, 'its transaction was not found'), nowMs));
  }
  const { transaction } = finding;
  const differences = differencesFrom(entry, transaction);
  if (differences.length > 0) {
    const problem = `the look-up found a transaction of another payment; it differs in: ${differences.join(', ')}`;
    return finish(entry, unknownResult(entry, reasonOf(entry, problem), nowMs));
  }
  const seen: Seen = { quote: null, transaction };
  const findingOf = OPERATIONS[operationOf(entry)].lookUp?.finding ?? ((): 'UNCLEAR' => 'UNCLEAR');
  const found = findingOf(transaction);
  const { effectStatus } = event;
  const before = effectStatus === null ? 'NOT_YET' : findingOf({ status: effectStatus, failureReason: null });
  if (effectStatus !== null && mayHaveTakenEffect(before, found) && found !== 'EXECUTED') {
    // The service showed an effect before and no longer does: that proves nothing.
    const problem = `its transaction is ${shownStatus(seen)} now, but was seen ${statusInWords(effectStatus)} before`;
    return lookAgain(entry, problem, seen, nowMs);
  }
  switch (found) {
    case 'EXECUTED':
      return finish(entry, executedResult(entry, transaction, 'LOOKUP', nowMs), seen);
    case 'REFUSED':
      if (phase.refusal !== null || quoteAgainOf(entry, nowMs) === null) {
        return finish(entry, foundRefusedResult(entry, transaction, nowMs), seen);
      }
      return notTaken(entry, seen, nowMs);
    case 'NOT_YET':
      if (phase.refusal !== null) return refusedInDoubt(entry, phase.refusal, seen, nowMs);
      // An executed payment may stay PENDING longer than its quote lives. Before another quote is paid, the status must
      // rule that out.
      if (quoteAgainOf(entry, nowMs) !== null) {
        return lookAgain(entry, `its quote expired, and its transaction is still ${shownStatus(seen)}`, seen, nowMs);
      }
      return notTaken(entry, seen, nowMs);
    case 'OPEN':
      return lookAgain(entry, `its transaction is still ${shownStatus(seen)}`, seen, nowMs);
    case 'UNCLEAR':
      return finish(
        entry,
        unknownResult(entry, reasonOf(entry, `its transaction is ${shownStatus(seen)}`), nowMs),
        seen,
      );
  }
}

/** The entry stays in doubt until its time limit; then it is UNKNOWN. */
function lookAgain(entry: Entry, problem: string, seen: Seen, nowMs: number): Decision {
  const { phase } = entry;
  if (phase.state !== 'DOUBTFUL' || nowMs >= entry.deadlineMs)
    return finish(entry, unknownResult(entry, reasonOf(entry, problem), nowMs), seen);
  const waitMs = backOffMs(entry.key, entry.waits, longestWaitMs(entry, nowMs));
  const againMs = Math.min(nowMs + waitMs, entry.deadlineMs);
  return { kind: 'next', seen, entry: doubtful(entry, phase.reason, againMs, phase.refusal) };
}

/**
 * A payment to be rejected may be under way for hours, and each look-up may read the transactions of a week. So the longest wait is a
 * quarter of the time since the call, but at least LONGEST_WAIT_MS and at most REJECTION_WAIT_MS_MAX.
 */
function longestWaitMs(entry: Entry, nowMs: number): number {
  if (OPERATIONS[operationOf(entry)].lookUp?.mayBeOlder !== true) return LONGEST_WAIT_MS;
  const sinceMs = nowMs - (entry.lastEndedMs ?? nowMs);
  return Math.min(REJECTION_WAIT_MS_MAX, Math.max(LONGEST_WAIT_MS, sinceMs / 4));
}

/** No call took effect so far: the entry may be called again. If its quote expired, it gets another one, or expires. */
function notTaken(entry: Entry, seen: Seen, nowMs: number): Decision {
  const again = nowMs < entry.deadlineMs ? quoteAgainOf(entry, nowMs) : null;
  switch (again?.kind) {
    case 'quote-again':
      return { kind: 'next', seen, entry: requoted(entry, again, nowMs) };
    case 'expire': {
      const ended = { ...entry, quotesRunOut: again.quotesRunOut };
      return finish(ended, expiredResult(ended, again.reason, 'LOOKUP', nowMs), seen);
    }
    case undefined: {
      const unexecuted = { by: 'LOOK_UP', attempts: entry.attempts } as const;
      const phase = { state: 'PARKED', untilMs: nowMs, reason: 'a look-up showed no effect so far' } as const;
      return { kind: 'next', seen, entry: { ...entry, turnedAway: 0, unexecuted, phase } };
    }
  }
}

/** The service refused a repeated call, and the transaction does not show that the first took effect. */
function refusedInDoubt(entry: Entry, refusal: HeldRefusal, seen: Seen, nowMs: number): Decision {
  if (refusal.httpStatus !== HTTP_CONFLICT) return finish(entry, refusedResult(entry, refusal, 'LOOKUP', nowMs), seen);
  // A conflict may mean that the service took the first call, before the transaction's status shows it.
  return lookAgain(entry, `its transaction is still ${shownStatus(seen)}`, seen, nowMs);
}

function shownStatus({ transaction }: Seen): string {
  return statusInWords(transaction?.status ?? null);
}
