/**
 * Runs a subscriber's handler for one event: it retries with doubling pauses, within one time limit, and then gives up.
 *
 * Stages: attempt -> pause -> attempt ... -> handled, or given up: then `onGiveUp` decides whether to skip the event or to
 * end. Without `onGiveUp` the subscription ends. While the subscription closes there are no further attempts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from 'payment-processor-contract/registry-http';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { PaymentClientError, requireFunction, requireWhole, TIMER_MS_MAX } from './client-error.ts';
import type { PaymentEvent } from './events.ts';
import { notice, type Noticing } from './notices.ts';
import { onAbort } from './on-abort.ts';

export interface HandlerOptions extends Noticing {
  /** Awaited before the next event (of its key, with `concurrency`). If it throws, it is retried: see `handlerRetry`. */
  onEvent: (event: PaymentEvent) => Promise<void> | void;
  /** How often a failing handler is called for one event, and the pauses; each is twice the previous one. */
  handlerRetry?: Partial<HandlerRetry>;
  /**
   * Longest time for one event, including all attempts and pauses; default: 300,000. Then the event is given up, although the
   * handler may still run. A rebalance of the group waits as long, and 20 seconds more.
   */
  handlingTimeoutMs?: number;
  /**
   * Called when an event is given up, unless the subscription is closing. `skip` passes it permanently (store it
   * elsewhere first). `end` ends the subscription, and the next subscriber of the group starts with the event. Without
   * this function, or if it throws or takes more than 10 seconds, the subscription ends.
   */
  onGiveUp?: (failure: { event: PaymentEvent; error: unknown }) => Promise<'skip' | 'end'> | 'skip' | 'end';
}

export interface HandlerRetry {
  /** Calls for one event, including the first; default: 5. */
  attempts: number;
  /** Default: 250. */
  firstDelayMs: number;
  /** Default: 30,000. */
  delayMsMax: number;
}

export const HANDLING_TIMEOUT_DEFAULT_MS = 300_000;
/** Time for `onGiveUp` to store an event elsewhere. If it takes longer, the subscription ends. */
export const GIVE_UP_TIMEOUT_MS = 10_000;
const RETRY_DEFAULT: HandlerRetry = { attempts: 5, firstDelayMs: 250, delayMsMax: 30_000 };

/**
 * @returns once the event is handled or skipped
 * @throws PaymentClientError, HANDLER_FAILED with the handler's last error, or HANDLER_TIMEOUT: the subscription must end
 */
export async function handleEvent(event: PaymentEvent, options: HandlerOptions, closing: AbortSignal): Promise<void> {
  const timeoutMs = options.handlingTimeoutMs ?? HANDLING_TIMEOUT_DEFAULT_MS;
  const stop = new AbortController();
  const listenNoMore = onAbort(closing, () => stop.abort());
  let isLate = false;
  try {
    isLate = !(await settledWithin(callWithRetries(event, options, stop.signal), timeoutMs));
    if (!isLate) return;
    stop.abort();
    const problem = `the event at ${placeOf(event)} was not handled within ${timeoutMs} ms (handlingTimeoutMs); the handler may still run`;
    throw new PaymentClientError('HANDLER_TIMEOUT', problem);
  } catch (error) {
    if (!closing.aborted) {
      const decision = await askWhetherToSkip(event, error, options);
      notice(options, { kind: 'given-up', event, error, decision });
      if (decision === 'skip') return;
    }
    // A handler may use a client of its own: its PaymentClientError says nothing about this subscription.
    if (isLate) throw error;
    throw new PaymentClientError('HANDLER_FAILED', messageOf(error), { cause: error });
  } finally {
    listenNoMore();
  }
}

async function askWhetherToSkip(
  event: PaymentEvent,
  error: unknown,
  { onGiveUp }: HandlerOptions,
): Promise<'skip' | 'end'> {
  if (onGiveUp === undefined) return 'end';
  try {
    const asked = Promise.resolve(onGiveUp({ event, error }));
    return (await settledWithin(asked, GIVE_UP_TIMEOUT_MS)) ? await asked : 'end';
  } catch {
    // The handler's own error ends the subscription.
    return 'end';
  }
}

async function callWithRetries(event: PaymentEvent, options: HandlerOptions, stop: AbortSignal): Promise<void> {
  const retry = { ...RETRY_DEFAULT, ...options.handlerRetry };
  const startMs = performance.now();
  let delayMs = retry.firstDelayMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await options.onEvent(event);
      notice(options, { kind: 'handled', event, attempts: attempt, ms: performance.now() - startMs });
      return;
    } catch (error) {
      notice(options, { kind: 'handler-failed', event, attempt, error });
      if (attempt >= retry.attempts || stop.aborted) throw error;
      await delay(Math.min(delayMs, retry.delayMsMax), undefined, { signal: stop }).catch(() => {
        throw error;
      });
      delayMs *= 2;
    }
  }
}

/** @throws PaymentClientError naming the option that is not a valid number */
export function checkHandlerOptions(options: HandlerOptions): void {
  for (const name of ['onNotice', 'onGiveUp'] as const) {
    if (options[name] !== undefined) requireFunction(name, options[name]);
  }
  const { attempts, firstDelayMs, delayMsMax } = { ...RETRY_DEFAULT, ...options.handlerRetry };
  requireWhole('handlerRetry.attempts', attempts, 1, 1_000_000);
  requireWhole('handlerRetry.firstDelayMs', firstDelayMs, 0, TIMER_MS_MAX);
  requireWhole('handlerRetry.delayMsMax', delayMsMax, 0, TIMER_MS_MAX);
  requireWhole('handlingTimeoutMs', options.handlingTimeoutMs ?? HANDLING_TIMEOUT_DEFAULT_MS, 1, TIMER_MS_MAX / 2);
}

function placeOf({ topic, partition, offset }: PaymentEvent): string {
  return `${topic}, partition ${partition}, offset ${offset}`;
}
