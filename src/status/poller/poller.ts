/**
 * The status poller: runs a session while the process owns lane 0 and that lane is open.
 *
 *   idle     the lane is not open here
 *   polling  one session; it ends when the lane is lost; if it ends earlier, another follows while the lane is open
 *
 * Only one session runs at a time; a new one begins when the previous one has ended.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ListReading, TransactionFilter } from '../../api/types.ts';
import type { Clock } from 'payment-processor-contract/clock';
import { readableState } from '../transaction-state.ts';
import { PollSession, type PollPort, type PollReports, type PollSettings } from './session.ts';

/** What the metrics count. */
export type PollerReports = Omit<PollReports, 'began' | 'leftForLater'> & {
  /** Whether the lane is open here now. */
  polling(isPolling: boolean): void;
};

export interface PollerOptions {
  readonly settings: PollSettings;
  readonly port: Omit<PollPort, 'wait'>;
  readonly clock: Clock;
  readonly reports: PollReports & PollerReports;
  /** An error ended a session; the poller restarts it. */
  readonly onFailure: (error: unknown) => void;
}

/** Pause after a session. */
const RESTART_WAIT_MS = 2_000;

export class StatusPoller {
  readonly #options: PollerOptions;
  #session: PollSession | null = null;
  #ending: AbortController | null = null;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Call it when the lane opens or closes; a repeated value is harmless. */
  laneOpen(isOpen: boolean): void {
    if (isOpen === (this.#ending !== null)) return;
    this.#options.reports.polling(isOpen);
    if (isOpen) {
      const ending = new AbortController();
      this.#ending = ending;
      this.#ended = this.#ended.then(() => this.#poll(ending.signal));
      return;
    }
    this.#ending?.abort();
    this.#ending = null;
    this.#session?.stop();
  }

  /** The index has a new state of a transaction. */
  stateChanged(value: Buffer): void {
    const state = this.#session === null ? null : readableState(value);
    if (state !== null) this.#session?.stateChanged(state);
  }

  /** Lists transactions for look-ups: their calls count against the budget, and the poller uses what they show. */
  async listAside(filter: TransactionFilter): Promise<ListReading> {
    const { clock, port } = this.#options;
    const beganMs = clock.nowMs();
    const reading = await port.list(filter);
    this.#session?.sawPage(filter, reading, beganMs);
    return reading;
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { clock, onFailure, port, reports, settings } = this.#options;
    const wait = (ms: number): Promise<void> => delay(ms, undefined, { signal }).catch(() => undefined);
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      const session = new PollSession(settings, { ...port, wait }, clock, reports);
      this.#session = session;
      try {
        await session.run();
      } catch (error) {
        if (!isOver()) onFailure(error);
      }
      this.#session = null;
      await wait(RESTART_WAIT_MS);
    }
  }
}
