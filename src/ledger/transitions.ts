/** The steps of decisions: a call that may have taken effect, a doubt, the next entry, the end. Pure. */
import { OUTCOMES, type Outcome } from 'payment-processor-contract/commands';
import type { CommandResult } from 'payment-processor-contract/types';
import type { Attempt, Decision, Seen } from './decision.ts';
import { isInDoubt, proofOf, type Entry, type HeldRefusal, type StoredEvent, type UnphasedEntry } from './entry.ts';
import { lookUpFromMs, settlementOf, type LedgerPolicy } from './settlement.ts';

/** The entry with the intent of its next call. */
export function intentOf(
  entry: UnphasedEntry,
  { attemptId, notBeforeMs, processId }: Attempt,
  policy: Pick<LedgerPolicy, 'apiTimeoutMs' | 'callerId'>,
): Entry {
  // Where only the key prevents a second effect, we call only as the recorded caller (whyKeyIsVoid), so overwriting it
  // loses nothing. If no process recorded the caller, it stays unknown.
  const isUnrecorded = entry.calledAs === null && entry.firstSentMs !== null && proofOf(entry)?.by !== 'LOOK_UP';
  return {
    ...entry,
    calledAs: isUnrecorded ? null : policy.callerId,
    phase: { state: 'INTENT', attemptId, processId, atMs: notBeforeMs, timeoutMs: policy.apiTimeoutMs },
  };
}

/**
 * The entry once the call of its intent may have taken effect.
 * @param endedMs when the call is over for certain: at its deadline, if we gave it up earlier
 */
export function possiblySent(entry: Entry, sentMs: number, endedMs: number): Entry {
  return {
    ...entry,
    attempts: entry.attempts + 1,
    firstSentMs: entry.firstSentMs ?? sentMs,
    lastEndedMs: Math.max(entry.lastEndedMs ?? 0, endedMs),
  };
}

/**
 * The entry in doubt: as `possiblySent`, and the doubt must be settled.
 * @param againMs when the same call may be repeated, if that settles the doubt
 */
export function inDoubt(
  entry: Entry,
  sentMs: number,
  reason: string,
  endedMs: number,
  againMs: number,
  policy: LedgerPolicy,
): Entry {
  const settleAtMs = settlementOf(entry, policy) === 'LOOK_UP' ? lookUpFromMs(endedMs, policy) : againMs;
  return doubtful(possiblySent(entry, sentMs, endedMs), reason, settleAtMs);
}

export function doubtful(entry: Entry, reason: string, settleAtMs: number, refusal: HeldRefusal | null = null): Entry {
  return { ...entry, waits: entry.waits + 1, phase: { state: 'DOUBTFUL', settleAtMs, reason, refusal } };
}

/** The entry until its next try; in doubt, while a call may have taken effect. */
export function waiting(entry: UnphasedEntry, untilMs: number, reason: string): Entry {
  const phase = isInDoubt(entry)
    ? ({ state: 'DOUBTFUL', settleAtMs: untilMs, reason: `its retry waits: ${reason}`, refusal: null } as const)
    : ({ state: 'PARKED', untilMs, reason } as const);
  return { ...entry, phase };
}

export function next(entry: Entry): Decision {
  return { kind: 'next', entry, seen: null };
}

export function finish(entry: UnphasedEntry, result: CommandResult, seen: Seen | null = null): Decision {
  return { kind: 'finish', entry, result, seen };
}

/** Why the outcome is not known: what happened, and why that could not be settled. */
export function reasonOf(entry: Entry, problem: string): string {
  return entry.phase.state === 'DOUBTFUL' ? `${entry.phase.reason}; ${problem}` : problem;
}

export function doneEntry(entry: UnphasedEntry, outcome: Outcome, completedMs: number, result: StoredEvent): Entry {
  return {
    ...entry,
    fieldsJson: OUTCOMES[outcome].isRetriable ? entry.fieldsJson : null,
    copies: [],
    phase: { state: 'DONE', outcome, completedMs, result },
  };
}
