/**
 * Awaits the results of commands. Open it before publishing the command, so that it misses no result:
 *
 *   const results = await ResultAwaiter.open(settings);
 *   const awaited = results.expect(key, { commandId, type: 'transfer-in', fingerprint, timeoutMs });
 *   await publisher.publish('transfer-in', key, fields, { commandId });
 *   const result = await awaited;
 *
 * It owns one subscription, which all awaited results share, until it is closed.
 */
import { isAddressedTo, isAnswerTo, type Asked } from './answer-match.ts';
import { PaymentClientError, requireWhole, TIMER_MS_MAX } from './client-error.ts';
import type { PaymentEvent } from './events.ts';
import { OUTCOMES } from 'payment-processor-contract/commands';
import { LiveEvents } from './live-events.ts';
import { isOfSameCommand, latestResult } from './payment-state.ts';
import type { PublisherSettings } from './settings.ts';
import type { ConnectionOptions } from './subscription.ts';

export type AwaitedResult = Extract<PaymentEvent, { kind: 'result' }>;

/** Without id and fingerprint any result of the key matches, except a CONFLICT, which concerns one message. */
export interface ExpectOptions extends Asked {
  timeoutMs: number;
  /** Aborts the wait: the promise rejects, and no longer counts against the limit of awaited results. */
  signal?: AbortSignal;
}

export class ResultAwaiter {
  /** New results of every key. */
  readonly live: LiveEvents;

  constructor(live: LiveEvents) {
    this.live = live;
  }

  /**
   * @returns once it sees every result published from here on
   * @throws as subscribe
   */
  static async open(settings: PublisherSettings, options: ConnectionOptions = {}): Promise<ResultAwaiter> {
    return new ResultAwaiter(await LiveEvents.open(settings, 'results', options));
  }

  /**
   * @returns the result that answers the request. If an operator can decide on it, the promise waits until this
   *   reader has caught up with its partition, and then resolves to the latest revision
   * @throws PaymentClientError: NO_RESULT if none came in time (the command may be in progress or done, or may never
   *   have arrived), RESULT_UNREADABLE, TOO_MANY, CLOSED, or the code with which the subscription ended; INVALID_OPTION
   *   at once
   */
  expect(key: string, { signal, timeoutMs, ...asked }: ExpectOptions): Promise<AwaitedResult> {
    requireWhole('timeoutMs', timeoutMs, 1, TIMER_MS_MAX);
    const { promise, resolve, reject } = Promise.withResolvers<AwaitedResult>();
    // If publishing fails, the caller ignores this promise; its rejection must not end the process.
    promise.catch(() => undefined);
    const refusal = this.live.refusal();
    if (refusal !== null) {
      reject(refusal);
      return promise;
    }
    const over = new AbortController();
    let answer: AwaitedResult | null = null;
    /** Repeats if a newer result came meanwhile: it may not be the latest either. */
    const confirm = async (): Promise<void> => {
      for (let held = answer; held !== null; held = answer) {
        if (!(await this.live.caughtUp(held, over.signal))) return;
        if (held === answer) {
          resolve(held);
          return;
        }
      }
    };
    const take = (event: AwaitedResult): void => {
      const isFirst = answer === null;
      answer = latestResult(answer, event) ?? event;
      if (!OUTCOMES[answer.value.outcome].isRetriable) resolve(answer);
      else if (isFirst) void confirm();
    };
    const stop = this.live.listen(key, {
      onEvent: (event) => {
        if (event.kind === 'result' && (isAnswerTo(event, asked) || isRevisionOf(answer, event))) take(event);
        // Its headers alone identify an unreadable answer. After an answer, it may be a later revision of that.
        if (event.kind === 'unreadable' && (answer !== null || isAddressedTo(event.headers, asked))) {
          reject(
            new PaymentClientError(
              'RESULT_UNREADABLE',
              `the result of ${key} arrived, but cannot be read (${event.problem})`,
            ),
          );
        }
      },
      onEnd: reject,
    });
    const timer = setTimeout(() => {
      const came = answer === null ? '' : ' that is known to be the latest';
      const problem = `no result of ${key}${came} came within ${timeoutMs} ms, so its outcome is not known. To request it again, publish the same command with the same key`;
      reject(new PaymentClientError('NO_RESULT', problem));
    }, timeoutMs);
    const giveUp = (): void =>
      reject(new PaymentClientError('CLOSED', `the wait for the result of ${key} was cancelled`));
    signal?.addEventListener('abort', giveUp);
    const awaited = promise.finally(() => {
      clearTimeout(timer);
      over.abort();
      signal?.removeEventListener('abort', giveUp);
      stop();
    });
    awaited.catch(() => undefined);
    return awaited;
  }

  /** Rejects all pending results. */
  async close(): Promise<void> {
    await this.live.close();
  }
}

function isRevisionOf(known: AwaitedResult | null, { value }: AwaitedResult): boolean {
  return known !== null && value.outcome !== 'CONFLICT' && isOfSameCommand(known.value, value);
}
