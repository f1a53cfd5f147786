/** When a call or a look-up ran. */
import { aheadMsOf, type Clock } from 'payment-processor-contract/clock';

/** By this process's wall clock. */
export interface CallTimes {
  readonly beganMs: number;
  readonly endedMs: number;
}

/** By the monotonic clock: while an answer waits for its commit, somebody may set the wall clock. */
export interface CallSpan {
  readonly beganMonotonicMs: number;
  readonly endedMonotonicMs: number;
}

/** By the wall clock as it is now. */
export function timesOf({ beganMonotonicMs, endedMonotonicMs }: CallSpan, clock: Clock): CallTimes {
  const aheadMs = aheadMsOf(clock);
  return { beganMs: Math.round(beganMonotonicMs + aheadMs), endedMs: Math.round(endedMonotonicMs + aheadMs) };
}
