/**
 * The poller and the reducer as they are, between a simulated service and simulated lanes: observations are committed,
 * reduced in the order of their commits, and shown by the index some time later. A session may be made to die in any of
 * its commits, before it or right after it; another follows with the committed state, as after a kill.
 */
import { PollSession, type PollReports, type PollSettings } from '../../src/status/poller/session.ts';
import type { Observation } from '../../src/status/observation.ts';
import { reduce } from '../../src/status/reducer.ts';
import type { PollRecord, TimeRange } from '../../src/status/poller/record.ts';
import { encodeTransactionState, type TransactionState } from '../../src/status/transaction-state.ts';
import type { ListReading, TransactionFilter } from '../../src/api/types.ts';
import type { PossibleEffect } from '../../src/ledger/effect.ts';
import type { QuoteStatusChanged, TransactionStatusChanged } from 'payment-processor-contract/types';
import { PLAIN_MANNER, SimulatedService, type Payment } from './simulated-service.ts';
import { VirtualTime } from './virtual-time.ts';

export interface WorldOptions {
  settings: PollSettings;
  startMs: number;
  list: (filter: TransactionFilter, nowMs: number) => ListReading;
  /** Asked before each commit. */
  fate?: () => 'commits' | 'dies-before' | 'dies-after';
  /** From commit to index. */
  indexLagMs?: () => number;
  /** Of the poller's wall clock. */
  aheadMs?: () => number;
}

export const SETTINGS: PollSettings = {
  intervalMs: 5_000,
  startMs: null,
  terminalForMs: 72 * 3_600_000,
  forgottenAfterMs: 7 * 86_400_000,
  callsPerMinuteMax: 120,
  heldForMsMax: 60_000,
};

const CALL_MS = 50;
/** Of a process that follows one that died. */
const RESTART_MS = 10_000;

export class PollerWorld {
  readonly time: VirtualTime;
  readonly transactionEvents: TransactionStatusChanged[] = [];
  readonly quoteEvents: QuoteStatusChanged[] = [];
  readonly committed: Observation[] = [];
  /** When each call was made. */
  readonly callTimes: number[] = [];
  readonly callKinds = new Map<string, number>();
  deaths = 0;
  sweeps = 0;
  readonly leftForLater: TimeRange[] = [];
  /** As the poller's process knows the ledger. */
  isLedgerRead = true;
  /** None: brokers do not say where it ends, or not so that it can be believed. */
  hasLedgerEnds = true;
  possibleEffects: PossibleEffect[] = [];
  readonly #options: WorldOptions;
  readonly #states = new Map<string, TransactionState>();
  readonly #index = new Map<string, TransactionState>();
  #record: PollRecord | null = null;
  #session: PollSession | null = null;
  #isOver = false;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.time = new VirtualTime(options.startMs);
  }

  /** Over a service that lists these payments. */
  static over(
    payments: readonly Payment[],
    startMs: number,
    options: Partial<WorldOptions> = {},
    manner = PLAIN_MANNER,
  ): PollerWorld {
    const service = new SimulatedService(payments, manner);
    const list: WorldOptions['list'] = (filter, nowMs) => service.list(filter, nowMs);
    return new PollerWorld({ settings: SETTINGS, startMs, list, ...options });
  }

  /** Polls from the beginning to the instant. */
  async pollUntil(untilMs: number): Promise<this> {
    this.start();
    await this.time.runUntil(untilMs);
    this.end();
    return this;
  }

  /** Polls from now on. */
  start(): void {
    void this.#poll();
  }

  end(): void {
    this.#isOver = true;
    this.#session?.stop();
  }

  record(): PollRecord | null {
    return this.#record;
  }

  /** The process ends, and another one takes its place. */
  restart(): void {
    this.#session?.stop();
  }

  /** The state's retention is over. */
  forget(id: string): void {
    this.#states.delete(id);
    this.#index.delete(id);
  }

  /** A lane commits an observation. */
  commit(observation: Observation): void {
    this.committed.push(observation);
    const id = observation.transaction?.id ?? observation.quote?.transactionId ?? '';
    const reduction = reduce(this.#states.get(id), id, observation, this.time.nowMs());
    this.#states.set(id, reduction.state);
    if (reduction.transactionEvent !== null) this.transactionEvents.push(reduction.transactionEvent);
    this.quoteEvents.push(...reduction.quoteEvents);
    this.time.at(this.time.nowMs() + (this.#options.indexLagMs?.() ?? 20), () => {
      // An earlier state may be shown after a later one was committed, but never after the later one is shown.
      if ((this.#index.get(id)?.seenEndedMs ?? 0) > reduction.state.seenEndedMs) return;
      this.#index.set(id, reduction.state);
      this.#session?.stateChanged(reduction.state);
    });
  }

  async #poll(): Promise<void> {
    const { aheadMs, fate, list, settings } = this.#options;
    const clock = { nowMs: () => this.time.nowMs() + (aheadMs?.() ?? 0), monotonicMs: () => this.time.nowMs() };
    const reports: PollReports = {
      began: () => undefined,
      called: (kind) => void this.callKinds.set(kind, (this.callKinds.get(kind) ?? 0) + 1),
      published: () => undefined,
      waitedForBudget: () => undefined,
      watching: () => undefined,
      leftForLater: (range) => void this.leftForLater.push(range),
      swept: () => void (this.sweeps += 1),
    };
    for (let processNumber = 1; !this.#isOver; processNumber += 1) {
      this.#session = new PollSession(
        settings,
        {
          processId: `process-${processNumber}`,
          list: async (filter) => {
            this.callTimes.push(this.time.nowMs());
            await this.time.wait(CALL_MS / 2);
            const reading = list(filter, this.time.nowMs());
            await this.time.wait(CALL_MS / 2);
            return reading;
          },
          state: (id) => this.#index.get(id),
          ledgerEnds: async () => {
            if (!this.hasLedgerEnds) throw new Error('no ends');
            return new Map();
          },
          hasApplied: () => this.isLedgerRead,
          possibleEffects: () => [...this.possibleEffects],
          states: () => [[...this.#index.values()].map(encodeTransactionState)],
          record: () => this.#record,
          brokersMs: () => this.time.nowMs(),
          publish: async (observations, record) => {
            const decided = fate?.() ?? 'commits';
            await this.time.wait(10);
            if (decided !== 'dies-before') {
              for (const observation of observations) this.commit(observation);
              if (record !== null) this.#record = record;
            }
            if (decided !== 'commits') throw new Error('killed');
          },
          wait: (ms) => this.time.wait(ms),
        },
        clock,
        reports,
      );
      try {
        await this.#session.run();
      } catch (error) {
        if (!(error instanceof Error && error.message === 'killed')) throw error;
        this.deaths += 1;
      }
      this.#session = null;
      await this.time.wait(RESTART_MS);
    }
  }
}
