/**
 * Payments that live through the service's whole life beside a run, some of them made by another client.
 *
 *   live       commands and the other client make payments, which go on by themselves
 *   quiet      no more changes at the service
 *   told       until the events say what the service says, or the limit
 *   rest       a while longer: a duplicate event would come now
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { PaymentHistory } from '../../test/support/sandbox-control.ts';
import type { Stack } from '../../test/support/stack.ts';
import { drawLater } from './chaos-makers.ts';
import { ListCalls } from './list-calls.ts';

export interface LivesOptions {
  /** The sandbox's settlement and approval time. */
  readonly settleMs: number;
  /** Payments of the other client: no command names them. */
  readonly othersPerSecond: number;
  readonly callsPerMinuteMax: number;
  /** 0 to 1: the share of payments that fail, are rejected, refunded or slow. */
  readonly laterShare: number;
}

/** The service's own history of every payment, and how the events caught up with it. */
export interface LivesEvidence {
  readonly topicPrefix: string;
  readonly histories: readonly PaymentHistory[];
  /** Transactions of the other client. */
  readonly unannounced: ReadonlySet<string>;
  /** When the processors were ready, on the wall clock. */
  readonly beganMs: number;
  /** How many pages the poller requested. */
  readonly listCalls: number;
  readonly listCallsInAMinuteMax: number;
  /** From the last change at the service until the events said the same. */
  readonly toldAfterQuietMs: number;
}

export const POLL_INTERVAL_MS = 5_000;
/** Ended payments are polled rarely: reversals every 12 intervals, the sweep every 60. */
const TOLD_MS_MAX = 150 * POLL_INTERVAL_MS;
const LOOK_MS = 3_000;
const REST_MS = 20_000;

export class Lives {
  readonly #stack: Stack;
  readonly #options: LivesOptions;
  readonly #listCalls: ListCalls;
  readonly #unannounced = new Set<string>();
  readonly #beganMs = Date.now();
  #toldAfterQuietMs = 0;

  constructor(stack: Stack, options: LivesOptions) {
    this.#stack = stack;
    this.#options = options;
    this.#listCalls = new ListCalls(stack.sandbox.port);
  }

  static settings({ callsPerMinuteMax }: LivesOptions): Record<string, string> {
    return {
      POLL_INTERVAL_MS: String(POLL_INTERVAL_MS),
      POLL_MAX_CALLS_PER_MINUTE: String(callsPerMinuteMax),
      POLL_START: new Date().toISOString(),
    };
  }

  /** @param untilMs by performance.now() */
  async makeOthers(random: () => number, untilMs: number): Promise<void> {
    const { laterShare, othersPerSecond } = this.#options;
    for (let count = 1; performance.now() < untilMs; count += 1) {
      await delay(1_000 / othersPerSecond);
      const digits = drawLater(random, laterShare) ?? 'x';
      this.#unannounced.add((await this.#stack.service.simulateUmaReceive(`Customer:other-${count}-${digits}`)).id);
    }
  }

  async over(onProgress: (line: string) => void): Promise<void> {
    const { service } = this.#stack;
    while ((await service.books()).scheduledSteps > 0) await delay(LOOK_MS);
    const quietMs = performance.now();
    onProgress('the service is quiet');
    // At the limit the judgement says which changes no event reported.
    while (!(await this.#isTold()) && performance.now() < quietMs + TOLD_MS_MAX) await delay(LOOK_MS);
    this.#toldAfterQuietMs = Math.round(performance.now() - quietMs);
    await delay(REST_MS);
  }

  async evidence(): Promise<LivesEvidence> {
    return {
      topicPrefix: this.#stack.settings.TOPIC_PREFIX,
      histories: await this.#stack.service.histories(),
      unannounced: this.#unannounced,
      beganMs: this.#beganMs,
      listCalls: this.#listCalls.atMs.length,
      listCallsInAMinuteMax: this.#listCalls.mostInAMinute(),
      toldAfterQuietMs: this.#toldAfterQuietMs,
    };
  }

  close(): void {
    this.#listCalls.close();
  }

  async #isTold(): Promise<boolean> {
    const { journal, service } = this.#stack;
    const events = [...journal.transactionEvents(), ...journal.quoteEvents()];
    const told = new Map(events.map(({ key, value }) => [key, value.status]));
    return (await service.histories()).every(({ history, id, quote }) =>
      [{ id, history }, ...(quote === null ? [] : [quote])].every(
        (one) => told.get(one.id) === one.history.at(-1)?.status,
      ),
    );
  }
}
