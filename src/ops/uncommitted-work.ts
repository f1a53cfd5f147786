/**
 * Whether an open lane stands still: it has something to commit and commits nothing. Pure.
 *
 * Something to commit is a transaction that has begun to gather, or messages that nothing keeps it from admitting; not
 * a call that is waited for, nor what a breaker, a limit or a full lane holds up.
 */
import type { LaneStatus } from '../lanes/lane-status.ts';
import type { InputLag } from './lag.ts';

/** @returns since when, or null: it has nothing to commit */
export function uncommittedSinceMs(
  lane: LaneStatus,
  lags: readonly InputLag[],
  lastKnownMs: number | null,
  nowMs: number,
): number | null {
  if (lane.stage !== 'open') return null;
  const isAdmitting = lags.some(({ cause }) => cause === 'catching-up');
  if (lane.isIdle && !isAdmitting) return null;
  // What came after a quiet hour has not waited for an hour.
  return Math.min(nowMs, Math.max(lastKnownMs ?? nowMs, lane.committedMs));
}
