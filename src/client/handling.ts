/**
 * Runs a subscriber's handler for one event: tried again with pauses that double, within one time limit, and then given up.
 *
 * Stages: attempt -> pause -> attempt ... -> handled, or given up: then `onGiveUp` says whether to pass the event or to
 * end, which is what happens without it. While the subscription closes there are no further attempts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { PaymentEvent } from './events.ts';

export interface HandlerOptions {
  /** Awaited before the next event. What it throws is tried again, see `handlerRetry`. */
  onEvent: (event: PaymentEvent) => Promise<void> | void;
  /** How often a failing handler is called for one event, and how long the pauses are; each is twice the one before. */
  handlerRetry?: Partial<HandlerRetry>;
  /**
   * Longest time for one event, all attempts and pauses together; 300,000 if not given. Then it is given up, though the
   * handler may still run. A rebalance of the group waits as long.
   */
  handlingTimeoutMs?: number;
  /** Called for each attempt that failed, also for the last. */
  onHandlerError?: (failure: { event: PaymentEvent; error: unknown; attempt: number }) => void;
  /**
   * Asked when an event is given up, before anything else is done: `skip` passes it for good (put it aside first), `end`
   * ends the subscription, and the event is the first of the next subscriber. Without it, and when it throws or takes
   * more than 10 seconds: `end`.
   */
  onGiveUp?: (failure: { event: PaymentEvent; error: unknown }) => Promise<'skip' | 'end'> | 'skip' | 'end';
}

export interface HandlerRetry {
  /** Calls for one event, the first included; 5 if not given. */
  attempts: number;
  /** 250 if not given. */
  firstDelayMs: number;
  /** 30,000 if not given. */
  delayMsMax: number;
}

/** The handler was not done in time; it may still run. */
export class HandlingTimeoutError extends Error {
  constructor(event: PaymentEvent, timeoutMs: number) {
    super(
      `the event at ${placeOf(event)} was not handled within ${timeoutMs} ms (handlingTimeoutMs); the handler may still run`,
    );
    this.name = 'HandlingTimeoutError';
  }
}

export const HANDLING_TIMEOUT_DEFAULT_MS = 300_000;
/** For `onGiveUp`: to put an event aside somewhere. What takes longer ends the subscription. */
export const GIVE_UP_TIMEOUT_MS = 10_000;
const RETRY_DEFAULT: HandlerRetry = { attempts: 5, firstDelayMs: 250, delayMsMax: 30_000 };
/** Beyond this a timer of the platform fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * @returns once the event is handled, or to be passed
 * @throws what the handler threw last, or HandlingTimeoutError: the subscription is to end
 */
export async function handleEvent(event: PaymentEvent, options: HandlerOptions, closing: AbortSignal): Promise<void> {
  const timeoutMs = options.handlingTimeoutMs ?? HANDLING_TIMEOUT_DEFAULT_MS;
  const timedOut = new AbortController();
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    timedOut.abort();
    timeout.reject(new HandlingTimeoutError(event, timeoutMs));
  }, timeoutMs);
  const stop = AbortSignal.any([closing, timedOut.signal]);
  try {
    await Promise.race([attempts(event, options, stop), timeout.promise]);
  } catch (error) {
    if (closing.aborted) throw error;
    if ((await askWhetherToSkip(event, error, options)) !== 'skip') throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function askWhetherToSkip(
  event: PaymentEvent,
  error: unknown,
  { onGiveUp }: HandlerOptions,
): Promise<'skip' | 'end'> {
  if (onGiveUp === undefined) return 'end';
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<'end'>((resolve) => {
    timer = setTimeout(() => resolve('end'), GIVE_UP_TIMEOUT_MS);
  });
  try {
    return await Promise.race([onGiveUp({ event, error }), silence]);
  } finally {
    clearTimeout(timer);
  }
}

async function attempts(event: PaymentEvent, options: HandlerOptions, stop: AbortSignal): Promise<void> {
  const retry = { ...RETRY_DEFAULT, ...options.handlerRetry };
  let delayMs = retry.firstDelayMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await options.onEvent(event);
      return;
    } catch (error) {
      options.onHandlerError?.({ event, error, attempt });
      if (attempt >= retry.attempts || stop.aborted) throw error;
      await delay(Math.min(delayMs, retry.delayMsMax), undefined, { signal: stop }).catch(() => {
        throw error;
      });
      delayMs *= 2;
    }
  }
}

/** @throws RangeError naming the option that is no number to work with */
export function checkHandlerOptions(options: HandlerOptions): void {
  const { attempts: calls, firstDelayMs, delayMsMax } = { ...RETRY_DEFAULT, ...options.handlerRetry };
  requireWhole('handlerRetry.attempts', calls, 1, 1_000_000);
  requireWhole('handlerRetry.firstDelayMs', firstDelayMs, 0, TIMER_MAX_MS);
  requireWhole('handlerRetry.delayMsMax', delayMsMax, 0, TIMER_MAX_MS);
  requireWhole('handlingTimeoutMs', options.handlingTimeoutMs ?? HANDLING_TIMEOUT_DEFAULT_MS, 1, TIMER_MAX_MS / 2);
}

/** @throws RangeError */
export function requireWhole(name: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new RangeError(`${name} is ${value}; it must be a whole number from ${min} to ${Math.floor(max)}`);
}

function placeOf({ topic, partition, offset }: PaymentEvent): string {
  return `${topic}, partition ${partition}, offset ${offset}`;
}
