/** Time, handed in so that tests can say what it is. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  nowMs(): number;
  /** For durations: never set back. */
  monotonicMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

/** How far the wall clock is ahead of the monotonic one. Constant until somebody sets it. */
export function aheadMsOf(clock: Clock): number {
  return clock.nowMs() - clock.monotonicMs();
}
