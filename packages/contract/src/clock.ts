/** Time, handed in so that tests can say what it is. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  nowMs(): number;
  /** For durations: never set back. */
  monotonicMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

/** Somebody set the wall clock if it moved this much against the monotonic one. By less it is only kept right. */
export const SET_MS_MIN = 1_000;

/** How far the wall clock is ahead of the monotonic one. Constant until somebody sets it. */
export function aheadMsOf(clock: Clock): number {
  return clock.nowMs() - clock.monotonicMs();
}
