/**
 * Requests: one call publishes a command and awaits its result. The call can be repeated.
 *
 * Stages of a request: check it before anything is sent -> await its result -> publish it, again if the write was not
 * confirmed -> the answer, or the timeout, after which nothing is known.
 *
 * The message's id follows from key, type and fields. So the client recognizes an answer to an earlier message of the same
 * command from any process, and a CONFLICT caused by other fields.
 *
 * Publisher and subscription belong to this object, until it is closed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eventId } from 'payment-processor-contract/cloud-events';
import type { CommandType } from 'payment-processor-contract/commands';
import { messageOf } from 'payment-processor-contract/registry-http';
import {
  isOfKey,
  readResult,
  type Answer,
  type CommandAnswer,
  type CreateAndExecuteAnswer,
  type StandingResult,
} from './answers.ts';
import {
  PaymentClientError,
  requireBoolean,
  requireDate,
  requireKey,
  requireSignal,
  requireText,
  requireWhole,
  TIMER_MS_MAX,
  withClientErrors,
} from './client-error.ts';
import type { CommandInput } from './command-input.ts';
import type { Quote } from './events.ts';
import { LiveEvents } from './live-events.ts';
import {
  checkCommand,
  checkPublishOptions,
  fingerprintOf,
  PaymentCommandPublisher,
  type PublishOptions,
} from './publisher.ts';
import { laneReader, type LaneReader } from './lane-reader.ts';
import { notice, type Noticing } from './notices.ts';
import { ResultAwaiter, type AwaitedResult } from './result-awaiter.ts';
import type { PublisherSettings } from './settings.ts';
import { followPayment, type Settlement, type SettlementOptions } from './settlement.ts';
import type { ConnectionOptions } from './subscription.ts';

export interface RequestOptions extends Omit<PublishOptions, 'commandId'> {
  /**
   * How long to await the answer, including publishing and, after a conflict, reading the standing result; in
   * `createAndExecute`, for each command.
   */
  timeoutMs: number;
}

export interface CreateAndExecuteOptions extends RequestOptions {
  /** The keys of the two commands. Default: `<key>:create` and `<key>:execute`. */
  keys?: { create: string; execute: string };
  /**
   * Called between the two: decides whether to execute the quote. Default: execute. An error that it throws becomes the
   * `cause` of HANDLER_FAILED.
   */
  approve?: (quote: Quote) => Promise<boolean> | boolean;
}

/**
 * Longest time to read the standing result after a CONFLICT, within the request's timeout: a lane of results can be
 * long.
 */
const STANDING_TIMEOUT_MS = 30_000;
/** First pause before a command is published again; it doubles each time. The publisher itself also retries. */
const PUBLISH_PAUSE_MS = 250;
const PUBLISH_PAUSE_MS_MAX = 4_000;

/** The client's parts; the client owns them until it is closed. */
export interface ClientParts {
  publisher: Pick<PaymentCommandPublisher, 'publishUntyped' | 'close'>;
  results: ResultAwaiter;
  /** Live changes of transactions; opened when a payment is first followed. */
  openChanges: () => Promise<LiveEvents>;
  read: LaneReader;
  noticing: Noticing;
}

export class PaymentClient {
  readonly #parts: ClientParts;
  #changes: Promise<LiveEvents> | null = null;

  /** Used by `connect`, and for a client without Kafka (testing.ts). */
  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** @throws PaymentClientError */
  static async connect(settings: PublisherSettings, options: ConnectionOptions = {}): Promise<PaymentClient> {
    const publisher = await PaymentCommandPublisher.connect(settings, options);
    try {
      return new PaymentClient({
        publisher,
        results: await ResultAwaiter.open(settings, options),
        openChanges: () => LiveEvents.open(settings, 'transaction-status', options),
        read: laneReader(settings, options),
        noticing: options,
      });
    } catch (error) {
      await publisher.close();
      throw error;
    }
  }

  /**
   * Publishes a command and awaits its result. Repeating the call with the same key and fields does nothing twice while the
   * processor remembers the key: LEDGER_RETENTION, 7 days after the result.
   * @param key names the command, across all types; 1 to 200 characters of 0x21 to 0x7E
   * @throws PaymentClientError: this call sent nothing
   */
  async request<Type extends CommandType>(
    type: Type,
    key: string,
    fields: CommandInput<Type>,
    options: RequestOptions,
  ): Promise<Answer> {
    return withClientErrors(async () => {
      // Copies: each try publishes the same fields, even if the caller changes its objects meanwhile.
      const checked = checkCommand(type, key, fields);
      const fingerprint = fingerprintOf(type, key, checked);
      checkPublishOptions(type, key, options);
      requireWhole('timeoutMs', options.timeoutMs, 1, TIMER_MS_MAX);
      // Copies of one command have one id, from any process.
      const commandId = eventId(`command\n${type}\n${key}\n${fingerprint}`);
      const refusal = this.#parts.results.live.refusal();
      if (refusal !== null) throw refusal;
      const deadlineMs = performance.now() + options.timeoutMs;
      const over = new AbortController();
      const awaited = this.#parts.results
        .expect(key, { commandId, type, fingerprint, timeoutMs: options.timeoutMs, signal: over.signal })
        .then(
          (result) => ({ kind: 'result' as const, result }),
          (error: unknown) => ({ kind: 'none' as const, error }),
        );
      const expiry = options.expiresAt === undefined ? {} : { expiresAt: new Date(options.expiresAt) };
      const published = this.#publish(type, key, checked, { ...options, ...expiry, commandId }, deadlineMs);
      // If it throws, nobody awaits the result any more.
      const end = await Promise.race([awaited, published.then(() => awaited)]).finally(() => over.abort());
      const ms = performance.now() - (deadlineMs - options.timeoutMs);
      const outcome = end.kind === 'result' ? end.result.value.outcome : 'unanswered';
      notice(this.#parts.noticing, { kind: 'answered', type, key, outcome, ms });
      if (end.kind === 'result') return this.#answerOf(end.result, deadlineMs);
      return unanswered(key, commandId, end.error, options.timeoutMs);
    });
  }

  /**
   * Creates a quote and executes it, as two commands. Repeating the call with the same key and fields pays once: quote and
   * execution stay the first ones, as long as the keys are remembered. It does not replace an expired quote: for that, use
   * another key.
   * @throws as request; earlier requests of this call then stand, and repeating the call is safe
   */
  async createAndExecute(
    key: string,
    fields: Omit<CommandInput<'create-quote'>, 'immediatelyExecute'>,
    options: CreateAndExecuteOptions,
  ): Promise<CreateAndExecuteAnswer> {
    return withClientErrors(async () => {
      const { keys, approve, ...requested } = options;
      if (keys === undefined) requireKey(key);
      const { create: createKey, execute: executeKey } = keys ?? { create: `${key}:create`, execute: `${key}:execute` };
      // Reject an invalid key before the quote is made.
      checkCommand('execute-quote', executeKey, { quoteId: 'Quote:0' });
      const create = await this.request('create-quote', createKey, { ...fields, immediatelyExecute: false }, requested);
      if (create.kind !== 'result' || create.result.value.outcome !== 'ACCEPTED') return { stage: 'create', create };
      const { quote } = create.result.value;
      if (quote === null) return { stage: 'no-quote', create };
      if (approve !== undefined && !(await callApprove(approve, quote))) return { stage: 'declined', create, quote };
      const { id: quoteId, transactionId } = quote;
      const execute = await this.request('execute-quote', executeKey, { quoteId, transactionId }, requested);
      return { stage: 'execute', create, quote, execute };
    });
  }

  /**
   * Looks up the key's result without publishing anything: it reads the key's lane from the beginning.
   * @throws as subscribe
   */
  async readResult(key: string, options: { timeoutMs: number }): Promise<StandingResult> {
    return withClientErrors(async () => {
      requireWhole('timeoutMs', options.timeoutMs, 1, TIMER_MS_MAX);
      requireKey(key);
      return readResult(this.#parts.read, key, options.timeoutMs);
    });
  }

  /**
   * Follows a payment until it is settled. Its command's key is enough, even if another process requested it.
   * @param of the command's key; or its result, whose time limits the reading
   * @returns the state once the payment is settled or was not accepted. With `endedBy`, the state known so far: the
   *   time was up, the signal came, or the reading failed
   * @throws PaymentClientError for an invalid option
   */
  async awaitSettled(of: string | CommandAnswer, options: SettlementOptions): Promise<Settlement> {
    return withClientErrors(async () => {
      requireWhole('timeoutMs', options.timeoutMs, 1, TIMER_MS_MAX);
      requireDate('since', options.since);
      requireSignal('signal', options.signal);
      requireText('fingerprint', options.fingerprint);
      requireKey(typeof of === 'string' ? of : of.key);
      const { read, results } = this.#parts;
      return followPayment(of, { results: results.live, changes: () => this.#openChanges(), read }, options);
    });
  }

  /** Pending requests end as `unanswered`. */
  async close(): Promise<void> {
    const changes = await this.#changes?.catch(() => null);
    await Promise.all([this.#parts.results.close(), changes?.close(), this.#parts.publisher.close()]);
  }

  /** All followed payments share one subscription; if it ended, a new one is opened. */
  async #openChanges(): Promise<LiveEvents> {
    const previous = this.#changes;
    const open = await previous?.catch(() => null);
    if (open?.isOpen === true) return open;
    // Only the first of several waiting callers opens a new one.
    if (this.#changes === previous) this.#changes = this.#parts.openChanges();
    return this.#changes ?? this.#openChanges();
  }

  /**
   * Publishes until a write is confirmed or the time is up. Copies do no harm.
   * @throws a try's error, as long as no try may have written the command: a later refusal does not undo a write
   */
  async #publish(
    type: CommandType,
    key: string,
    fields: object,
    options: PublishOptions,
    deadlineMs: number,
  ): Promise<void> {
    let mayBeWritten = false;
    let pauseMs = PUBLISH_PAUSE_MS;
    while (performance.now() < deadlineMs) {
      try {
        await this.#parts.publisher.publishUntyped(type, key, fields, options);
        return;
      } catch (error) {
        mayBeWritten ||= error instanceof PaymentClientError && error.mayBeWritten;
        if (!mayBeWritten) throw error;
        if (error instanceof PaymentClientError && error.code === 'CLOSED') return;
        await delay(pauseMs);
        pauseMs = Math.min(2 * pauseMs, PUBLISH_PAUSE_MS_MAX);
      }
    }
  }

  async #answerOf(result: AwaitedResult, deadlineMs: number): Promise<Answer> {
    if (isOfKey(result)) return { kind: 'result', result, isReplayed: result.isReplayed };
    const leftMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
    const standing = await this.readResult(result.key, { timeoutMs: Math.min(leftMs, STANDING_TIMEOUT_MS) }).catch(
      (error: unknown): StandingResult => ({ kind: 'not-read', problem: messageOf(error) }),
    );
    return { kind: 'conflict', conflict: result, standing };
  }
}

async function callApprove(approve: NonNullable<CreateAndExecuteOptions['approve']>, quote: Quote): Promise<boolean> {
  try {
    return requireBoolean('it', await approve(quote));
  } catch (error) {
    throw new PaymentClientError('HANDLER_FAILED', `approve: ${messageOf(error)}`, { cause: error });
  }
}

function unanswered(key: string, commandId: string, error: unknown, timeoutMs: number): Answer {
  const isLate = error instanceof PaymentClientError && error.code === 'NO_RESULT';
  const reason = isLate ? `no result that is known to be the latest came within ${timeoutMs} ms` : messageOf(error);
  return {
    kind: 'unanswered',
    key,
    commandId,
    problem: `${reason}, so the outcome is not known. To ask again, make the same request`,
  };
}
