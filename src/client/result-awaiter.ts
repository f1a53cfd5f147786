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
import type { CommandResult, Envelope } from './events.ts';
import type { PublisherSettings } from './settings.ts';
import { subscribe, type ConnectionOptions, type Subscription } from './subscription.ts';

export type AwaitedResult = Envelope & { kind: 'result'; value: CommandResult };

/** Without id and fingerprint any result of the key will do, whoever asked, except a CONFLICT, which is about one message. */
export interface ExpectOptions extends Asked {
  timeoutMs: number;
}

/**
 * No result came in time, and nothing is known: the command may be under way, done, or never have arrived. To ask again,
 * publish the same command with the same key: it is executed once, and each copy is answered.
 */
export class ResultTimeoutError extends Error {
  constructor(key: string, timeoutMs: number) {
    super(
      `no result of ${key} came within ${timeoutMs} ms: nothing is known of it; to ask again, publish the same command with the same key`,
    );
    this.name = 'ResultTimeoutError';
  }
}

interface Expectation {
  key: string;
  asked: Asked;
  resolve: (result: AwaitedResult) => void;
  reject: (error: Error) => void;
}

/** Results awaited at once. */
const EXPECTATIONS_MAX = 100_000;

export class ResultAwaiter {
  readonly #expectations = new Map<string, Set<Expectation>>();
  #count = 0;
  #subscription: Subscription | null = null;
  #ended: Error | null = null;

  /**
   * @returns once every result that is published from here on will be seen
   * @throws as subscribe
   */
  static async open(settings: PublisherSettings, options: ConnectionOptions = {}): Promise<ResultAwaiter> {
    const awaiter = new ResultAwaiter();
    awaiter.#subscription = await subscribe(settings, {
      ...options,
      streams: ['results'],
      start: { from: 'now' },
      onEvent: (event) => {
        if (event.kind === 'result') awaiter.#take(event);
        else if (event.kind === 'unreadable') awaiter.#refuse(event);
      },
    });
    awaiter.#subscription.ended.catch((error: unknown) => {
      awaiter.#end(new Error('the subscription to the results ended', { cause: error }));
    });
    return awaiter;
  }

  /** Why nothing can be awaited now: it has ended, or too much is awaited already; null if something can. */
  refusal(): Error | null {
    if (this.#ended !== null || this.#count < EXPECTATIONS_MAX) return this.#ended;
    return new Error(`${EXPECTATIONS_MAX} results are awaited already: await some of them first`);
  }

  /**
   * @returns the first terminal result from now on that answers what was asked
   * @throws ResultTimeoutError; an Error when the subscription ends first, or the answer cannot be read
   */
  expect(key: string, { timeoutMs, ...asked }: ExpectOptions): Promise<AwaitedResult> {
    const refusal = this.refusal();
    if (refusal !== null) return Promise.reject(refusal);
    const { promise, resolve, reject } = Promise.withResolvers<AwaitedResult>();
    const expectation: Expectation = { key, asked, resolve, reject };
    this.#add(expectation);
    const timer = setTimeout(() => reject(new ResultTimeoutError(key, timeoutMs)), timeoutMs);
    const awaited = promise.finally(() => {
      clearTimeout(timer);
      this.#remove(expectation);
    });
    // A caller whose publication fails never looks at this one; that must not end its process.
    awaited.catch(() => undefined);
    return awaited;
  }

  /** Whatever is still awaited is rejected. */
  async close(): Promise<void> {
    this.#end(new Error('the awaiter of results was closed'));
    await this.#subscription?.close();
  }

  #take(result: AwaitedResult): void {
    for (const expectation of this.#expectations.get(result.value.commandKey) ?? []) {
      if (isAnswerTo(result, expectation.asked)) expectation.resolve(result);
    }
  }

  /** It is known to be the answer by its header alone. */
  #refuse({ key, headers, problem }: Envelope & { problem: string }): void {
    for (const expectation of this.#expectations.get(key) ?? []) {
      if (!isAddressedTo(headers, expectation.asked)) continue;
      expectation.reject(new Error(`the result of ${key} came, and cannot be read (${problem})`));
    }
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const expectations of this.#expectations.values()) {
      for (const expectation of expectations) expectation.reject(this.#ended);
    }
  }

  #add(expectation: Expectation): void {
    const expectations = this.#expectations.get(expectation.key) ?? new Set();
    this.#expectations.set(expectation.key, expectations.add(expectation));
    this.#count += 1;
  }

  #remove(expectation: Expectation): void {
    const expectations = this.#expectations.get(expectation.key);
    if (expectations?.delete(expectation) !== true) return;
    this.#count -= 1;
    if (expectations.size === 0) this.#expectations.delete(expectation.key);
  }
}
