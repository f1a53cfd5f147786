/**
 * The breaker of one operation. Only infrastructure faults move it; a refusal is an answer.
 *
 * Stages: closed -> open -> checking -> trial -> ramp -> closed.
 * - open: no calls, for the reset time (opossum's timer).
 * - checking: no calls; a GET asks whether the service is back. If not: open again. After CHECKS_FAILED_MAX failed
 *   checks in a row a trial follows all the same: perhaps the service answers everything but this GET. If that call
 *   fails too, the next such trial needs twice as many failed checks, up to eightfold.
 * - trial: one call. A fault, or a call that was never sent: open again.
 * - ramp: 2 calls at once, doubled by each success. A fault: open again.
 * If a trial or a ramp gets no call within the reset time, a GET replaces the call. If it succeeds, the breaker advances: a trial to
 * the ramp, a ramp to closed. If it fails, a trial opens the breaker again, and a ramp stays as it is.
 *
 * opossum owns the counting window, the reset timer and the stages closed, open and half-open. This file owns checking, ramp
 * and the timer of trials and ramps without calls.
 */
import CircuitBreaker from 'opossum';

/** With fewer calls the share of faults means nothing. */
const VOLUME_MIN = 5;
/** Shortest counting window. It spans two timeouts if that is longer: otherwise hanging calls would never share a window. */
const WINDOW_MIN_MS = 10_000;
const RAMP_START = 2;
/** With the default reset time: two minutes if the GET fails at once, four if it times out. */
const CHECKS_FAILED_MAX = 24;

/**
 * How a call counts for the breaker. An `unattempted` call was never sent, for a reason on our side. In a
 * trial it counts as a fault; otherwise as a call without a fault, which does not grow a ramp.
 */
export type Weight = 'fine' | 'fault' | 'unattempted';
export interface Attempt<Result> {
  result: Result;
  weight: Weight;
  /** Class of the fault in a few words, such as HTTP 503; null if the call was no fault. */
  fault: string | null;
}
export const BREAKER_STAGES = ['closed', 'open', 'checking', 'trial', 'ramp'] as const;
export type BreakerStage = (typeof BREAKER_STAGES)[number];

/** What a breaker had seen when its stage changed, for the log. */
export interface BreakerEvidence {
  /** Calls that ended within the counting window, sent or not. */
  readonly calls: number;
  /** How many of them were infrastructure faults. */
  readonly faults: number;
  /** Class of the last fault since the start; null before the first. */
  readonly lastFault: string | null;
}

export interface BreakerOptions {
  name: string;
  /** Share of faults, in percent, at which the breaker opens. */
  errorPercent: number;
  resetMs: number;
  timeoutMs: number;
  /** Allowance at which a ramp ends. */
  rampEnd: number;
  /** Whether a GET shows that the service is back. Must settle, and never reject. */
  isServiceReachable: () => Promise<boolean>;
  onChange: (stage: BreakerStage, evidence: BreakerEvidence) => void;
}

export interface Breaker<Result> {
  stage(): BreakerStage;
  /** Class of the last fault since the start; null before the first. */
  lastFault(): string | null;
  /** How many calls may be under way at once. */
  allowance(): number;
  underWay(): number;
  /** Runs a call; null without running it if the breaker allows none now, or after `close`. */
  run(call: () => Promise<Attempt<Result>>): Promise<Result | null>;
  close(): void;
}

class Fault extends Error {
  readonly result: unknown;
  constructor(result: unknown) {
    super('infrastructure fault');
    this.result = result;
  }
}

export function createBreaker<Result>(options: BreakerOptions): Breaker<Result> {
  let underWay = 0;
  let isTrial = false;
  let checksFailed = 0;
  /**
   * Doubles, up to eightfold, each time a trial without a successful check fails: in an outage each such trial may
   * leave a call in doubt.
   */
  let checksFailedMax = CHECKS_FAILED_MAX;
  let isUncheckedTrial = false;
  let rampAllowance = Infinity;
  let lastFault: string | null = null;
  let calls = 0;
  let idleTimer: NodeJS.Timeout | undefined;

  const circuit = new CircuitBreaker(
    async (call: () => Promise<Attempt<Result>>): Promise<Attempt<Result>> => {
      const attempt = await call();
      // A trial that was never sent must not close the breaker; opening it again is the safe choice.
      const isFault = attempt.weight === 'fault' || (attempt.weight === 'unattempted' && circuit.halfOpen);
      lastFault = attempt.fault ?? lastFault;
      if (isFault) throw new Fault(attempt.result);
      return attempt;
    },
    {
      name: options.name,
      // A call has its own deadline; opossum's would answer while the call still runs.
      timeout: false,
      resetTimeout: options.resetMs,
      // opossum opens above its threshold; ours must open at it, so that 100 % is a usable setting.
      errorThresholdPercentage: options.errorPercent - 0.001,
      volumeThreshold: VOLUME_MIN,
      rollingCountTimeout: Math.max(WINDOW_MIN_MS, 2 * options.timeoutMs),
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
    },
  );

  const stage = (): BreakerStage => {
    if (circuit.opened) return 'open';
    if (circuit.halfOpen) return isTrial ? 'trial' : 'checking';
    return rampAllowance === Infinity ? 'closed' : 'ramp';
  };
  const changed = (): void => {
    const { failures, successes } = circuit.stats;
    options.onChange(stage(), { calls: failures + successes, faults: failures, lastFault });
    watchIdleness();
  };

  const isTrying = (): boolean => stage() === 'trial' || stage() === 'ramp';
  const watchIdleness = (): void => {
    clearTimeout(idleTimer);
    if (isTrying() && !circuit.isShutdown) idleTimer = setTimeout(() => void advanceWithoutCall(), options.resetMs);
  };
  const advanceWithoutCall = async (): Promise<void> => {
    const callsBefore = calls;
    // If there is a call, its outcome decides.
    const isDecided = (): boolean => underWay > 0 || calls !== callsBefore || !isTrying();
    if (isDecided()) return;
    const isReachable = await options.isServiceReachable();
    if (isDecided()) return;
    if (stage() === 'trial') {
      if (isReachable) circuit.close();
      else circuit.open();
    } else if (!isReachable) watchIdleness();
    else {
      rampAllowance = Infinity;
      changed();
    }
  };

  circuit.on('open', changed);
  circuit.on('close', () => {
    checksFailed = 0;
    checksFailedMax = CHECKS_FAILED_MAX;
    rampAllowance = RAMP_START;
    changed();
  });
  circuit.on('halfOpen', () => {
    isTrial = false;
    changed();
    void options.isServiceReachable().then((isReachable) => {
      // A call from before the outage may have closed or reopened the breaker during the check.
      if (!circuit.halfOpen || isTrial) return;
      checksFailed = isReachable ? 0 : checksFailed + 1;
      if (!isReachable && checksFailed < checksFailedMax) {
        circuit.open();
        return;
      }
      if (isReachable) checksFailedMax = CHECKS_FAILED_MAX;
      isUncheckedTrial = !isReachable;
      checksFailed = 0;
      isTrial = true;
      changed();
    });
  });

  const allowance = (): number => {
    switch (stage()) {
      case 'open':
      case 'checking':
        return 0;
      case 'trial':
        return 1;
      case 'ramp':
      case 'closed':
        return rampAllowance;
    }
  };

  const growRamp = (): void => {
    rampAllowance = rampAllowance * 2 >= options.rampEnd ? Infinity : rampAllowance * 2;
    changed();
  };

  return {
    stage,
    lastFault: () => lastFault,
    allowance,
    underWay: () => underWay,
    close: () => {
      circuit.shutdown();
      clearTimeout(idleTimer);
    },
    run: async (call) => {
      if (circuit.isShutdown || underWay >= allowance()) return null;
      const stageAtStart = stage();
      underWay += 1;
      calls += 1;
      try {
        const attempt = await circuit.fire(call);
        if (stageAtStart === 'ramp' && stage() === 'ramp' && attempt.weight === 'fine') growRamp();
        return attempt.result;
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (stageAtStart === 'ramp') circuit.open();
        if (stageAtStart === 'trial' && isUncheckedTrial) {
          checksFailedMax = Math.min(2 * checksFailedMax, 8 * CHECKS_FAILED_MAX);
        }
        return error.result as Result;
      } finally {
        underWay -= 1;
        watchIdleness();
      }
    },
  };
}
