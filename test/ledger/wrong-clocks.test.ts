/** Clocks that were wrong when the ledger was written, or are now: no doubt is settled early by them, and none waits for days (I2, I5). */
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { sentEarlier, takenUp } from '../../src/ledger/wrong-clocks.ts';
import { aPolicy, due, entryAt } from './entries.ts';

const NOW_MS = 1_000_000_000_000;
const WEEK_MS = 7 * 86_400_000;
const policy = aPolicy();
const { callsEndWithinMs, settlingTimeMs } = policy;

/** A call whose end was written as `endedMs`, to be looked up. */
function inDoubt(endedMs: number): Entry {
  const phase = { state: 'DOUBTFUL' as const, settleAtMs: endedMs + settlingTimeMs, reason: 'lost', refusal: null };
  return { ...entryAt('execute-quote'), attempts: 1, firstSentMs: endedMs - 10, lastEndedMs: endedMs, phase };
}

/** From the taking over to the look-up, where the entry is looked at whenever it says. */
function waitedMs(found: Entry): number {
  let [entry, nowMs] = [takenUp(found, NOW_MS, policy), NOW_MS];
  for (let looks = 0; looks < 10; looks += 1) {
    const decision = due(entry, nowMs);
    if (decision.kind === 'look-up') return nowMs - NOW_MS;
    if (decision.kind !== 'next' || decision.entry.phase.state !== 'DOUBTFUL') throw new Error(decision.kind);
    entry = decision.entry;
    nowMs = decision.entry.phase.settleAtMs;
  }
  return Infinity;
}

describe('a doubt that a new owner finds', () => {
  test('written by a clock a week ahead: looked up when the longest call, begun now, would be settled', () => {
    expect(waitedMs(inDoubt(NOW_MS + WEEK_MS))).toBe(callsEndWithinMs + settlingTimeMs);
  });

  test('written by a clock an hour behind: not before the settling time', () => {
    expect(waitedMs(inDoubt(NOW_MS - 3_600_000))).toBe(settlingTimeMs);
  });

  test('of a call that may still be on its way: not before the settling time after its end', () => {
    expect(waitedMs(inDoubt(NOW_MS + 7_000))).toBe(7_000 + settlingTimeMs);
  });

  test('written by a clock a week ahead: its key is trusted from now on, no longer', () => {
    expect(takenUp(inDoubt(NOW_MS + WEEK_MS), NOW_MS, policy).firstSentMs).toBe(NOW_MS);
  });
});

test('an own clock that was a week ahead, and was set right since: the doubt waits as for the longest call', () => {
  const decision = due(inDoubt(NOW_MS + WEEK_MS), NOW_MS);
  const settleAtMs = NOW_MS + callsEndWithinMs + settlingTimeMs;
  expect(decision).toMatchObject({ kind: 'next', entry: { phase: { state: 'DOUBTFUL', settleAtMs } } });
});

test('a clock that is slow: only keys that settle a doubt count as older', () => {
  const repeated = { ...inDoubt(NOW_MS), commandType: 'transfer-in' as const };
  expect(sentEarlier(repeated, 5_000, policy).firstSentMs).toBe(NOW_MS - 10 - 5_000);
  expect(sentEarlier(inDoubt(NOW_MS), 5_000, policy)).toEqual(inDoubt(NOW_MS));
});
