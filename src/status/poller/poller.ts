/**
 * The status poller: a session whenever the process owns lane 0 and that lane is open, else nothing.
 *
 *   idle     the lane is not open here
 *   polling  one session; ended by the lane's loss, begun again while the lane is open
 *
 * Only one session is under way at a time; a new one begins when the former has ended.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ListReading, TransactionFilter } from '../../api/types.ts';
import type { Clock } from 'payment-processor-contract/clock';
import type { TransactionState } from '../transaction-state.ts';
import { PollSession, type PollPort, type PollReports, type PollSettings } from './session.ts';

/** What the metrics count. */
export type PollerReports = Omit<PollReports, 'began'> & {
  /** The lane is open here, or is not any more. */
  polling(isPolling: boolean): void;
};

export interface PollerOptions {
  readonly settings: PollSettings;
  readonly port: Omit<PollPort, 'wait'>;
  readonly clock: Clock;
  readonly reports: PollReports & PollerReports;
  /** A session ended by an error; it is begun again. */
  readonly onFailure: (error: unknown) => void;
}

/** Before a session that failed is begun again. */
const RESTART_WAIT_MS = 2_000;

export class StatusPoller {
  readonly #options: PollerOptions;
  #session: PollSession | null = null;
  #ending: AbortController | null = null;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Says whether the lane is open; may be told the same again. */
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
  stateChanged(state: () => TransactionState): void {
    this.#session?.stateChanged(state());
  }

  /** Like the service's own list, for look-ups: their calls count against the budget, and what they show is used. */
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
