/** Decides what to do with an entry that is due, or whose call is about to be sent. Pure. */
import type { SettledBy } from 'payment-processor-contract/commands';
import { EXECUTE_SUFFIX } from 'payment-processor-contract/keys';
import { proofOf, type Entry, type Unexecuted } from './entry.ts';
import { OPERATIONS } from './operations.ts';
import { quoteAgainOf, type QuoteAgain } from './quote-again.ts';
import { lookUpFromMs, operationOf, settlementOf, whyKeyIsVoid, type LedgerPolicy } from './settlement.ts';
import { timeLimitInWords } from './time-limit.ts';

/** Finds the transaction that shows whether the call took effect, by its id or by its quote's id. */
export interface LookUpQuery {
  readonly transactionId: string | null;
  readonly quoteId: string | null;
  /** Calls of the entry that may have been sent before the look-up: its finding covers these, never a later one. */
  readonly attempts: number;
  /** Roughly when the transaction was created, as far as we know. */
  readonly createdMs: number;
  /** The transaction may be much older than `createdMs`. */
  readonly mayBeOlder: boolean;
}

export type Plan =
  | { kind: 'call' }
  | QuoteAgain
  | { kind: 'look-up'; query: LookUpQuery }
  /** Look it up once the settling time has passed since `endedMs`, by when the last call has ended. */
  | { kind: 'doubt'; endedMs: number }
  /** No call took effect, or only a quote was created; `reason` says how we know. */
  | { kind: 'expire'; reason: string; settledBy: SettledBy }
  | { kind: 'give-up'; reason: string };

export function planOf(entry: Entry, nowMs: number, policy: LedgerPolicy): Plan {
  const isTooLate = nowMs >= entry.deadlineMs;
  const { firstSentMs, phase } = entry;
  if (firstSentMs === null) {
    if (isTooLate) return { kind: 'expire', reason: neverTakenInWords(entry), settledBy: 'PROCESSOR' };
    const again = quoteAgainOf(entry, nowMs);
    if (again !== null && entry.turnedAway > 0) return lookFirst(entry, nowMs, policy);
    return again ?? { kind: 'call' };
  }
  const keyProblem = whyKeyIsVoid(entry, firstSentMs, nowMs, policy);
  const proof = proofOf(entry);
  if (proof !== null) {
    // An operator can be wrong. Then only the idempotency key prevents a second effect.
    const mayCall = proof.by === 'LOOK_UP' || keyProblem === null;
    if (mayCall && !isTooLate) {
      const again = quoteAgainOf(entry, nowMs);
      // The service may have executed the quote since that look-up, or taken a call deferred since the decision.
      if (again !== null && (proof.by === 'LOOK_UP' || entry.turnedAway > 0)) return lookFirst(entry, nowMs, policy);
      return again ?? { kind: 'call' };
    }
    const why = isTooLate || keyProblem === null ? limitPassed(entry) : keyProblem;
    return { kind: 'expire', ...proofInWords(proof, why, entry) };
  }
  // The refusal may be a conflict, and then even the same key settles nothing.
  if (phase.state === 'DOUBTFUL' && phase.refusal !== null) return lookUpPlan(entry, firstSentMs, nowMs, policy);
  switch (settlementOf(entry, policy)) {
    case 'SAME_KEY': {
      if (!isTooLate && keyProblem === null) return { kind: 'call' };
      // An entry that we may not call again can still be looked up.
      if (queryOf(entry, firstSentMs) !== null) return lookUpPlan(entry, firstSentMs, nowMs, policy);
      const why = keyProblem ?? `${limitPassed(entry)} before a call could settle it`;
      return giveUp(`a call got no clear answer, and ${why}`);
    }
    case 'HARMLESS':
      if (!isTooLate) return { kind: 'call' };
      return {
        kind: 'expire',
        reason: `${limitPassed(entry)} before a usable quote came; a quote by itself moves no money`,
        settledBy: 'PROCESSOR',
      };
    case 'SANDBOX':
      return isTooLate ? giveUp(`a call got no clear answer, and ${limitPassed(entry)}`) : { kind: 'call' };
    case 'LOOK_UP':
      return lookUpPlan(entry, firstSentMs, nowMs, policy);
    case 'NONE':
      return giveUp('a call got no clear answer');
  }
}

/**
 * Looks up the expired quote's transaction before another quote is paid. A proxy, not the service, may have deferred the
 * execution: the service may have taken that call, and its effect may still come.
 */
function lookFirst(entry: Entry, nowMs: number, policy: LedgerPolicy): Plan {
  return { kind: 'doubt', endedMs: entry.turnedAway > 0 ? nowMs + policy.apiTimeoutMs : (entry.lastEndedMs ?? nowMs) };
}

/** For an entry without doubt: by their answers, none of its calls took effect. Here we trust a proxy's answer too. */
function neverTakenInWords(entry: Entry): string {
  const passed = limitPassed(entry);
  if (entry.attempts === 0) return `${passed} before anything was sent`;
  if (entry.quoted !== null) return `${passed} before the service took a call to execute its quote`;
  return `${passed} before the service accepted it: every call was deferred`;
}

/** Names the limit, because it decides what the publisher or the operator can do. */
function limitPassed(entry: Entry): string {
  return `its time limit (${timeLimitInWords(entry)}) passed`;
}

function proofInWords(proof: Unexecuted, why: string, { turnedAway }: Entry): { reason: string; settledBy: SettledBy } {
  const proven = `no call took effect${turnedAway > 0 ? ', and the service deferred others' : ''}`;
  switch (proof.by) {
    case 'LOOK_UP':
      return { reason: `${why}; a look-up of its transaction shows that ${proven}`, settledBy: 'LOOKUP' };
    case 'OPERATOR':
      return {
        reason: `${why}; an operator decided (revision ${proof.revision}) that ${proven}`,
        settledBy: 'OPERATOR',
      };
  }
}

/** Looks up only after the settling time, even if we first tried to settle the doubt in another way. */
function lookUpPlan(entry: Entry, firstSentMs: number, nowMs: number, policy: LedgerPolicy): Plan {
  if (nowMs - firstSentMs >= policy.idempotencyRetentionMs) return giveUp('no look-up settled it in time');
  const query = queryOf(entry, firstSentMs);
  if (query === null) {
    return giveUp(
      `a call with the key ${entry.key}${entry.step === 'EXECUTE' ? EXECUTE_SUFFIX : ''} got no clear answer`,
    );
  }
  const endedMs = entry.lastEndedMs ?? firstSentMs;
  if (entry.phase.state === 'DOUBTFUL' && nowMs >= lookUpFromMs(endedMs, policy)) return { kind: 'look-up', query };
  return { kind: 'doubt', endedMs };
}

/**
 * A quote and its transaction are created together, before the command that executes the quote and before the quote expires.
 * After an operator's RETRY the call can be hours later.
 */
function queryOf(entry: Entry, firstSentMs: number): LookUpQuery | null {
  const { attempts, origin, quoted } = entry;
  if (quoted !== null) {
    const { expiresAtMs, quoteId, receivedMs, transactionId } = quoted;
    const createdMs = Math.min(firstSentMs, receivedMs, expiresAtMs ?? Infinity);
    return { attempts, transactionId, quoteId, createdMs, mayBeOlder: false };
  }
  const lookUp = OPERATIONS[operationOf(entry)].lookUp;
  const subject = lookUp?.subject(entry) ?? null;
  if (lookUp === null || subject === null) return null;
  const { mayBeOlder } = lookUp;
  const createdMs = mayBeOlder ? firstSentMs : Math.min(firstSentMs, origin.timestampMs);
  return { attempts, ...subject, createdMs, mayBeOlder };
}

function giveUp(reason: string): Plan {
  return { kind: 'give-up', reason };
}
