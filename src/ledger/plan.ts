/** What to do with an entry that is due and has no call under way. Pure. */
import type { SettledBy } from 'payment-processor-contract/commands';
import { EXECUTE_SUFFIX } from 'payment-processor-contract/keys';
import { proofOf, type Entry, type Unexecuted } from './entry.ts';
import { OPERATIONS } from './operations.ts';
import { quoteAgainOf, type QuoteAgain } from './quote-again.ts';
import { isKeyTrusted, lookUpFromMs, operationOf, settlementOf, type LedgerPolicy } from './settlement.ts';
import { timeLimitInWords } from './time-limit.ts';

/** Which transaction tells whether the call took effect: by its own id, else by a quoteId that the service may show. */
export interface LookUpQuery {
  readonly transactionId: string | null;
  readonly quoteId: string | null;
  /** Calls of the entry that may have been sent when it is asked: what is found speaks of these, never of a later one. */
  readonly attempts: number;
  /** Of the call whose effect is looked for. */
  readonly firstSentMs: number;
  /** The transaction may be much older than that. */
  readonly mayBeOlder: boolean;
}

export type Plan =
  | { kind: 'call' }
  | QuoteAgain
  | { kind: 'look-up'; query: LookUpQuery }
  /** To be looked up, once what was over by `endedMs` has had its time to happen. */
  | { kind: 'doubt'; endedMs: number }
  /** It is certain that nothing took effect; `reason` says from where. */
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
  const mayRepeat = isKeyTrusted(firstSentMs, nowMs, policy);
  const proof = proofOf(entry);
  if (proof !== null) {
    // An operator can be wrong: then it is the key that protects.
    const mayCall = proof.by === 'LOOK_UP' || mayRepeat;
    if (mayCall && !isTooLate) {
      const again = quoteAgainOf(entry, nowMs);
      // That look-up was made while the quote could still be executed.
      if (again !== null && proof.by === 'LOOK_UP') return lookFirst(entry, nowMs, policy);
      return again ?? { kind: 'call' };
    }
    const why = isTooLate ? limitPassed(entry) : 'the service may have forgotten its key since';
    return { kind: 'expire', ...proofInWords(proof, why) };
  }
  // Where the refusal is a conflict, not even the same key tells.
  if (phase.state === 'DOUBTFUL' && phase.refusal !== null) return lookUpPlan(entry, firstSentMs, nowMs, policy);
  switch (settlementOf(entry, policy)) {
    case 'SAME_KEY': {
      if (!isTooLate && mayRepeat) return { kind: 'call' };
      // What may not be called again may still be looked at.
      if (queryOf(entry, firstSentMs) !== null) return lookUpPlan(entry, firstSentMs, nowMs, policy);
      const why = isTooLate
        ? `${limitPassed(entry)} before it could be repeated`
        : 'the service may have forgotten the key since';
      return giveUp(`a call got no clear answer, and ${why}`);
    }
    case 'HARMLESS':
      if (!isTooLate) return { kind: 'call' };
      return {
        kind: 'expire',
        reason: `${limitPassed(entry)} before a usable quote came; a quote alone moves nothing`,
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
 * Before another quote is paid, the transaction of the one that ran out tells. Whoever turned an execution away need not
 * have been the service: that call may have been taken, and its effect still be to come.
 */
function lookFirst(entry: Entry, nowMs: number, policy: LedgerPolicy): Plan {
  return { kind: 'doubt', endedMs: entry.turnedAway > 0 ? nowMs + policy.apiTimeoutMs : (entry.lastEndedMs ?? nowMs) };
}

/** Of an entry none of whose calls may have taken effect, by their own answers. */
function neverTakenInWords(entry: Entry): string {
  const passed = limitPassed(entry);
  if (entry.attempts === 0) return `${passed} before anything was sent`;
  if (entry.quoted !== null) return `${passed} before the service took an execution of its quote`;
  return `${passed} before the service took it: every call was turned away`;
}

/** Which limit it was decides what its publisher or its operator can do. */
function limitPassed(entry: Entry): string {
  return `its time limit (${timeLimitInWords(entry)}) passed`;
}

function proofInWords(proof: Unexecuted, why: string): { reason: string; settledBy: SettledBy } {
  switch (proof.by) {
    case 'LOOK_UP':
      return { reason: `${why}, and its transaction, looked up, shows that no call took effect`, settledBy: 'LOOKUP' };
    case 'OPERATOR':
      return {
        reason: `${why}; that no call took effect is what an operator decided (revision ${proof.revision})`,
        settledBy: 'OPERATOR',
      };
  }
}

/** Not before the settling time, however the doubt was to be settled when it came. */
function lookUpPlan(entry: Entry, firstSentMs: number, nowMs: number, policy: LedgerPolicy): Plan {
  if (nowMs - firstSentMs >= policy.idempotencyRetentionMs) return giveUp('it could not be looked up in time');
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

function queryOf(entry: Entry, firstSentMs: number): LookUpQuery | null {
  const asked = { attempts: entry.attempts, firstSentMs, mayBeOlder: false };
  if (entry.quoted !== null) {
    const { quoteId, transactionId } = entry.quoted;
    return { ...asked, transactionId, quoteId };
  }
  const lookUp = OPERATIONS[operationOf(entry)].lookUp;
  const subject = lookUp?.subject(entry) ?? null;
  return lookUp === null || subject === null ? null : { ...asked, ...subject, mayBeOlder: lookUp.mayBeOlder };
}

function giveUp(reason: string): Plan {
  return { kind: 'give-up', reason };
}
