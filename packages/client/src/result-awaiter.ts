/**
 * Awaits the results of commands. Opened before the command is published, so that no result can come in between:
 *
 *   const results = await ResultAwaiter.open(settings);
 *   const awaited = results.expect(key, { commandId, type: 'transfer-in', fingerprint, timeoutMs });
 *   await publisher.publish('transfer-in', key, fields, { commandId });
 *   const result = await awaited;
 *
 * It owns one subscription, shared by all that is awaited, until it is closed.
 */
import { isAddressedTo, isAnswerTo, type Asked } from './answer-match.ts';
import { PaymentClientError, requireWhole, TIMER_MS_MAX } from './client-error.ts';
import type { PaymentEvent } from './events.ts';
import { LiveEvents } from './live-events.ts';
import type { PublisherSettings } from './settings.ts';
import type { ConnectionOptions } from './subscription.ts';

export type AwaitedResult = Extract<PaymentEvent, { kind: 'result' }>;

/** Without id and fingerprint any result of the key will do, whoever asked, except a CONFLICT, which is about one message. */
export interface ExpectOptions extends Asked {
  timeoutMs: number;
}

export class ResultAwaiter {
  /** Results as they come, of every key. */
  readonly live: LiveEvents;

  constructor(live: LiveEvents) {
    this.live = live;
  }

  /**
   * @returns once every result that is published from here on will be seen
   * @throws as subscribe
   */
  static async open(settings: PublisherSettings, options: ConnectionOptions = {}): Promise<ResultAwaiter> {
    return new ResultAwaiter(await LiveEvents.open(settings, 'results', options));
  }

  /**
   * @returns the first terminal result from now on that answers what was asked
   * @throws PaymentClientError, NO_RESULT when none came in time: the command may be under way, done, or never have arrived
   */
  expect(key: string, { timeoutMs, ...asked }: ExpectOptions): Promise<AwaitedResult> {
    requireWhole('timeoutMs', timeoutMs, 1, TIMER_MS_MAX);
    const { promise, resolve, reject } = Promise.withResolvers<AwaitedResult>();
    // A caller whose publication fails never looks at this one; that must not end its process.
    promise.catch(() => undefined);
    const refusal = this.live.refusal();
    if (refusal !== null) {
      reject(refusal);
      return promise;
    }
    const stop = this.live.listen(key, {
      onEvent: (event) => {
        if (event.kind === 'result' && isAnswerTo(event, asked)) resolve(event);
        // It is known to be the answer by its header alone.
        if (event.kind === 'unreadable' && isAddressedTo(event.headers, asked)) {
          reject(
            new PaymentClientError(
              'RESULT_UNREADABLE',
              `the result of ${key} came, and cannot be read (${event.problem})`,
            ),
          );
        }
      },
      onEnd: reject,
    });
    const timer = setTimeout(() => {
      const problem = `no result of ${key} came within ${timeoutMs} ms: nothing is known of it; to ask again, publish the same command with the same key`;
      reject(new PaymentClientError('NO_RESULT', problem));
    }, timeoutMs);
    const awaited = promise.finally(() => {
      clearTimeout(timer);
      stop();
    });
    awaited.catch(() => undefined);
    return awaited;
  }

  /** Whatever is still awaited is rejected. */
  async close(): Promise<void> {
    await this.live.close();
  }
}
