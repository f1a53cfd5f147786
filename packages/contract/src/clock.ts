/** Time, passed in so that tests can control it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  nowMs(): number;
  /** For durations: it never goes back. */
  monotonicMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

/** If the wall clock moves this much against the monotonic one, someone set it. Less is normal correction. */
export const SET_MS_MIN = 1_000;

/** How far the wall clock is ahead of the monotonic one. Constant until somebody sets it. */
export function aheadMsOf(clock: Clock): number {
  return clock.nowMs() - clock.monotonicMs();
}
