/**
 * Detects a stalled lane: it is open and has something to commit, but commits nothing. Pure.
 *
 * Something to commit means a transaction in progress, or messages that the lane could admit. A call under way does not count,
 * nor does work that a breaker, a limit or a full lane holds back.
 */
import type { LaneStatus } from '../lanes/lane-status.ts';
import type { InputLag } from './lag.ts';

/**
 * @param earlierMs what this returned for the lane at the previous reading; null: it had nothing to commit
 * @returns since when it has committed nothing; null: it has nothing to commit
 */
export function uncommittedSinceMs(
  lane: LaneStatus,
  lags: readonly InputLag[],
  earlierMs: number | null,
  nowMs: number,
): number | null {
  if (lane.stage !== 'open') return null;
  const isAdmitting = lags.some(({ cause }) => cause === 'catching-up');
  if (lane.isIdle && !isAdmitting) return null;
  // A message that arrives after a quiet hour has not waited for an hour.
  return Math.min(nowMs, Math.max(earlierMs ?? nowMs, lane.committedMs));
}
