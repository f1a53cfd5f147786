/**
 * Instants in the ledger are of the clock of whoever wrote them, and that may have been wrong by days, as may ours. None is
 * believed that cannot be: a lane must not wait for it, nor may a doubt be settled early. Pure.
 */
import { RETRY_AFTER_MAX_MS } from '../api/reading.ts';
import type { Entry } from './entry.ts';
import type { LedgerPolicy } from './settlement.ts';

/** No entry waits longer for its instant, whatever settings it was written with: else a clock was wrong. */
export function longestWaitMs(policy: Pick<LedgerPolicy, 'callsEndWithinMs' | 'settlingTimeMs'>): number {
  return Math.max(RETRY_AFTER_MAX_MS, policy.callsEndWithinMs + policy.settlingTimeMs);
}

/** No call of the entry began later than now, or ends later than one that begins now could. */
export function withinReach(entry: Entry, nowMs: number, policy: Pick<LedgerPolicy, 'callsEndWithinMs'>): Entry {
  const { firstSentMs, lastEndedMs, phase } = entry;
  return {
    ...entry,
    firstSentMs: firstSentMs === null ? null : Math.min(firstSentMs, nowMs),
    lastEndedMs: lastEndedMs === null ? null : Math.min(lastEndedMs, nowMs + policy.callsEndWithinMs),
    phase: phase.state === 'INTENT' ? { ...phase, atMs: Math.min(phase.atMs, nowMs) } : phase,
  };
}

/**
 * The same for an entry that a new owner finds, or one whose clock was set forward. By a clock that was behind, a call may have
 * ended later than is written: the settling time is counted anew.
 */
export function takenUp(entry: Entry, nowMs: number, policy: Pick<LedgerPolicy, 'callsEndWithinMs'>): Entry {
  const taken = withinReach(entry, nowMs, policy);
  return taken.lastEndedMs === null ? taken : { ...taken, lastEndedMs: Math.max(taken.lastEndedMs, nowMs) };
}
