/**
 * Instants in the ledger come from the clock of the process that wrote them. Its clock may have been wrong by days, and so may ours.
 * We correct impossible instants: a lane must not wait for one, nor settle a doubt too early. Pure.
 */
import { RETRY_AFTER_MAX_MS } from '../api/reading.ts';
import type { Entry } from './entry.ts';
import { settlementOf, type LedgerPolicy } from './settlement.ts';

/** Longest wait of an entry under our settings. A longer one means a wrong clock, or that SETTLING_TIME_MS was lowered since. */
export function longestWaitMs(policy: Pick<LedgerPolicy, 'callsEndWithinMs' | 'settlingTimeMs'>): number {
  return Math.max(RETRY_AFTER_MAX_MS, policy.callsEndWithinMs + policy.settlingTimeMs);
}

/** Caps impossible instants: no call began after now, and none ends later than a call that begins now. */
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
 * For a new owner, an operator's RETRY, or after our clock was set forward: caps instants and restarts the settling time. The writer's
 * clock may have been behind, so a call may have ended later than recorded.
 */
export function takenUp(entry: Entry, nowMs: number, policy: Pick<LedgerPolicy, 'callsEndWithinMs'>): Entry {
  const taken = withinReach(entry, nowMs, policy);
  return taken.lastEndedMs === null ? taken : { ...taken, lastEndedMs: Math.max(taken.lastEndedMs, nowMs) };
}

/**
 * If a repeat with the same key settles the entry's doubt: moves its calls' times back, because our clock is behind the brokers'. Else
 * a key would seem younger than it is, and we might use it after the service has forgotten it.
 */
export function sentEarlier(entry: Entry, behindMs: number, policy: LedgerPolicy): Entry {
  if (settlementOf(entry, policy) !== 'SAME_KEY') return entry;
  const { firstSentMs, phase } = entry;
  return {
    ...entry,
    firstSentMs: firstSentMs === null ? null : firstSentMs - behindMs,
    phase: phase.state === 'INTENT' ? { ...phase, atMs: phase.atMs - behindMs } : phase,
  };
}
