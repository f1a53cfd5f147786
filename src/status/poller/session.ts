/**
 * The poller while its lane is open.
 *
 *   starting   reads the record, or writes the first one. Without POLL_START, existing transactions are not announced
 *   watching   loads the states of all lanes, then works page by page: asks, judges, notes; the outbox publishes
 *   ended      stopped by its owner; the clock was set back; a page came after a long outage; or publishing failed, which rejects `run`
 *
 * The record counts a page as read only after the lane has committed its news; a fenced lane cannot. So a successor needs only the
 * record of the previous session. A session owns nothing that must be closed.
 */
import type { ListFailure, ListReading, TransactionFilter } from '../../api/types.ts';
import { aheadMsOf, SET_MS_MIN, type Clock } from 'payment-processor-contract/clock';
import type { Transaction } from 'payment-processor-contract/types';
import { instantOf, readableState, type TransactionState } from '../transaction-state.ts';
import { PollAgenda, type PollWorkKind } from './agenda.ts';
import { PollBudget } from './budget.ts';
import { CLOCKS_MS } from './discovery.ts';
import { notAfter } from './news.ts';
import { PollOutbox, type OutboxPort } from './outbox.ts';
import { withRange, withoutRange } from './catch-up.ts';
import type { PollRecord, TimeRange } from './record.ts';
import { PollScan } from './scan.ts';
import { PollWatch } from './watch.ts';

export interface PollSettings {
  readonly intervalMs: number;
  /** Null: the first start. */
  readonly startMs: number | null;
  readonly terminalForMs: number;
  /** How long we keep the state of a transaction at rest. An older transaction without a state may have been forgotten. */
  readonly forgottenAfterMs: number;
  readonly callsPerMinuteMax: number;
  /** Longest time that news is held for a command in doubt that may have caused it. */
  readonly heldForMsMax: number;
}

/** The poller's access to the process and the lane. */
export interface PollPort extends OutboxPort {
  /** Never rejects. */
  list(filter: TransactionFilter): Promise<ListReading>;
  /**
   * The encoded states of all lanes in groups, except those at rest since before the instant. The caller pauses between groups. Later
   * changes come by `stateChanged`.
   */
  states(restingSinceMs: number): Iterable<readonly Buffer[]>;
  record(): PollRecord | null;
  /** The latest time that a broker gave to a record of the lane. Our own clock may be ahead. */
  brokersMs(): number;
  /** Resolves after the time, or earlier when the session is stopped. */
  wait(ms: number): Promise<void>;
}

/** What the metrics count. Cheap, never throws. */
export interface PollReports {
  /**
   * The states are loaded.
   * @param startMs creation time from which transactions unknown to us are announced
   * @param unreadable states of transactions that this release cannot read: they are not polled
   */
  began(startMs: number, watched: number, unreadable: number): void;
  called(kind: PollWorkKind, outcome: ListFailure | 'page'): void;
  published(observations: number): void;
  waitedForBudget(ms: number): void;
  watching(transactions: number): void;
  /** Transactions created in this range are not announced yet: the service fails to list one of them. */
  leftForLater(createdWithin: TimeRange): void;
  /** A sweep has listed every watched transaction, and ended now. */
  swept(atMs: number): void;
}

/** Bounds of the interval between two looks for due work. */
const TICK_MIN_MS = 20;
const TICK_MAX_MS = 500;
const TICKS_PER_INTERVAL = 10;
/** Pause after a failure, doubled with each further one. */
const BACK_OFF_FIRST_MS = 1_000;
const BACK_OFF_MAX_MS = 60_000;
/** Longest pause that the service may ask for; after that we ask again. */
const PAUSE_REQUESTED_MAX_MS = 300_000;
/** An outage of the list must exceed both this time and this many intervals. Then a new session catches up, as after a restart. */
const OUTAGE_MS_MIN = 600_000;
const OUTAGE_INTERVALS = 3;
/** Time between two records of the progress. A new owner reads at most this much again. */
const RECORD_INTERVAL_MS = 30_000;

export class PollSession {
  readonly #settings: PollSettings;
  readonly #port: PollPort;
  readonly #clock: Clock;
  readonly #reports: PollReports;
  readonly #watch: PollWatch;
  readonly #budget: PollBudget;
  readonly #outbox: PollOutbox;
  #agenda: PollAgenda | null = null;
  #isStopped = false;
  #failures = 0;
  #recordedMs = 0;
  /** When the last page came, on the monotonic clock. */
  #answeredMs: number;
  /** How far the wall clock was ahead of the monotonic one at the last look. */
  #aheadMs: number;

  constructor(settings: PollSettings, port: PollPort, clock: Clock, reports: PollReports) {
    this.#settings = settings;
    this.#port = port;
    this.#clock = clock;
    this.#reports = reports;
    this.#aheadMs = aheadMsOf(clock);
    this.#answeredMs = clock.monotonicMs();
    this.#watch = new PollWatch(settings);
    const onPublished = (observations: number): void => reports.published(observations);
    this.#outbox = new PollOutbox({ port, clock, heldForMsMax: settings.heldForMsMax, onPublished });
    this.#budget = new PollBudget(settings.callsPerMinuteMax, clock.monotonicMs());
  }

  /**
   * Ends when it is stopped, when the clock is set back, or after a long outage of the list. After a set-back nothing would be due
   * until the clock passes the old time. After an outage only a new session announces what was created meanwhile.
   * @throws what `publish` rejects with
   */
  async run(): Promise<void> {
    const record = await this.#start();
    if (record === null) return;
    const restingSinceMs = this.#clock.nowMs() - this.#settings.terminalForMs;
    let unreadable = 0;
    for (const states of this.#port.states(restingSinceMs)) {
      if (this.#isStopped) return;
      for (const value of states) {
        const state = readableState(value);
        if (state === null) unreadable += 1;
        else this.#watch.update(state, this.#clock.nowMs());
      }
      // Loading a million states takes seconds, and the process has just taken over lanes.
      await this.#port.wait(0);
    }
    this.#agenda = new PollAgenda(
      {
        ...this.#settings,
        forgottenToMs: this.#mayBeForgottenToMs(record),
        callMs: this.#budget.callMs(),
        watch: this.#watch,
      },
      record,
      this.#clock.nowMs(),
    );
    this.#recordedMs = this.#clock.nowMs();
    this.#reports.began(record.startMs, this.#watch.size(), unreadable);
    while (!this.#isStopped && !this.#wasClockSetBack()) {
      if ((await this.#step(this.#agenda)) === 'after-outage') break;
    }
    this.stop();
  }

  stop(): void {
    this.#isStopped = true;
    this.#outbox.stop();
  }

  /** The index has a new state of a transaction, of any lane. */
  stateChanged(state: TransactionState): void {
    this.#watch.update(state, this.#clock.nowMs());
    this.#outbox.stateChanged(state);
  }

  /** Takes a page that another component requested: it counts against the budget, and its news is published. */
  sawPage(filter: TransactionFilter, reading: ListReading, beganMs: number): void {
    this.#budget.spend(this.#clock.monotonicMs());
    if (this.#agenda === null || this.#isStopped || reading.kind === 'failed' || this.#outbox.isFull()) return;
    const windowFromMs = instantOf(filter.startDate ?? null) ?? 0;
    this.#addPage(reading.data, this.#announcedFromMs(this.#agenda), windowFromMs, beganMs);
  }

  #wasClockSetBack(): boolean {
    const before = this.#aheadMs;
    this.#aheadMs = aheadMsOf(this.#clock);
    return before - this.#aheadMs >= SET_MS_MIN;
  }

  /** @returns 'after-outage' for the first page after a long outage, which only a new session may take */
  async #step(agenda: PollAgenda): Promise<'done' | 'after-outage'> {
    this.#outbox.throwIfFailed();
    const work = this.#outbox.isFull() ? null : agenda.next(this.#clock.nowMs());
    if (work === null) {
      this.#reports.watching(this.#watch.size());
      await this.#port.wait(this.#tickMs());
      return 'done';
    }
    if (!(await this.#allowed())) return 'done';
    const { kind, scan } = work;
    const beganMs = this.#clock.nowMs();
    const reading = await this.#port.list(scan.filter());
    if (this.#isStopped) return 'done';
    const nowMs = this.#clock.nowMs();
    this.#reports.called(kind, reading.kind === 'page' ? 'page' : reading.cause);
    if (reading.kind === 'page') {
      if (this.#wasOutage()) return 'after-outage';
      const { fromMs, toMs } = scan.window;
      // The catch-up lists transactions for the first time, however old they are. The service's filter is coarser than its range.
      const announcedFromMs =
        kind === 'catch-up' ? Math.max(agenda.record().startMs, fromMs) : this.#announcedFromMs(agenda);
      const transactions = kind === 'catch-up' ? notAfter(toMs, reading.data) : reading.data;
      this.#addPage(transactions, announcedFromMs, fromMs, beganMs);
      for (const { id } of reading.data) this.#watch.listed(id, beganMs);
      agenda.listed(
        work,
        reading.data.map(({ createdAt }) => createdAt),
      );
    }
    scan.take(reading);
    const sweptAtMs = agenda.record().sweptAtMs;
    const left = agenda.took(work, nowMs);
    if (left !== null) this.#reports.leftForLater(left);
    const record = agenda.record();
    if (record.sweptAtMs !== null && record.sweptAtMs !== sweptAtMs) this.#reports.swept(record.sweptAtMs);
    if (nowMs - this.#recordedMs >= RECORD_INTERVAL_MS) {
      this.#recordedMs = nowMs;
      this.#outbox.note(record);
    }
    await this.#backOff(reading);
    return 'done';
  }

  /** Whether the list was unavailable for long before the page that came now. */
  #wasOutage(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const awayMs = nowMs - this.#answeredMs;
    this.#answeredMs = nowMs;
    return awayMs > Math.max(OUTAGE_MS_MIN, OUTAGE_INTERVALS * this.#settings.intervalMs);
  }

  /** Takes a call from the budget. @returns false if it had to wait: other work may be due by now */
  async #allowed(): Promise<boolean> {
    const waitMs = this.#budget.take(this.#clock.monotonicMs());
    if (waitMs === 0) return true;
    this.#reports.waitedForBudget(waitMs);
    await this.#port.wait(waitMs);
    return false;
  }

  #addPage(transactions: readonly Transaction[], announcedFromMs: number, windowFromMs: number, beganMs: number): void {
    this.#outbox.add({ transactions, beganMs, endedMs: this.#clock.nowMs(), announcedFromMs, windowFromMs });
  }

  /** A transaction without a state is new if it was created after this; an older one may have been forgotten. */
  #announcedFromMs(agenda: PollAgenda): number {
    const record = agenda.record();
    return Math.max(record.startMs, this.#mayBeForgottenToMs(record));
  }

  #mayBeForgottenToMs({ forgottenToMs }: PollRecord): number {
    return Math.max(forgottenToMs, this.#clock.nowMs() - this.#settings.forgottenAfterMs + CLOCKS_MS);
  }

  /** @returns null if it was stopped before there was a record */
  async #start(): Promise<PollRecord | null> {
    const found = this.#port.record();
    const { forgottenAfterMs, startMs } = this.#settings;
    const nowMs = this.#clock.nowMs();
    if (found !== null) {
      const nextStartMs = startMs ?? found.startMs;
      // Discovery lists this range, but announces nothing created before the start. An earlier POLL_START can announce it later.
      const discovered = withoutRange(found.unlisted, { fromMs: found.discoveredToMs + 1, toMs: Infinity });
      const unlisted = withRange(discovered, { fromMs: found.discoveredToMs + 1, toMs: nextStartMs - 1 });
      return { ...found, startMs: nextStartMs, unlisted, forgottenAfterMs, forgottenToMs: this.#forgottenToMs(found) };
    }
    const beginMs = startMs ?? (await this.#firstStartMs());
    if (beginMs === null) return null;
    const isPast = beginMs < nowMs - CLOCKS_MS;
    const record: PollRecord = {
      startMs: beginMs,
      discoveredToMs: isPast ? nowMs - CLOCKS_MS : Math.min(beginMs, nowMs),
      unlisted: [{ fromMs: 0, toMs: isPast ? nowMs : beginMs - 1 }],
      sweep: null,
      sweptAtMs: null,
      forgottenAfterMs,
      forgottenToMs: 0,
    };
    if (!this.#isStopped) await this.#port.publish([], record);
    return this.#isStopped ? null : record;
  }

  /**
   * The first start, by the service's clock: right after the newest existing transaction. If there is no recent one, CLOCKS_MS
   * ago. @returns null if stopped
   */
  async #firstStartMs(): Promise<number | null> {
    const fromMs = this.#slowerNowMs() - CLOCKS_MS;
    const scan = new PollScan({ fromMs, toMs: null, status: null });
    let newestMs = fromMs;
    while (scan.stage === 'reading') {
      if (this.#isStopped) return null;
      if (!(await this.#allowed())) continue;
      const reading = await this.#port.list(scan.filter());
      this.#reports.called('discovery', reading.kind === 'page' ? 'page' : reading.cause);
      if (reading.kind === 'page' || reading.isTooLong === true) scan.take(reading);
      if (reading.kind === 'page') {
        const nowMs = this.#slowerNowMs();
        for (const { createdAt } of reading.data) {
          const createdMs = instantOf(createdAt) ?? nowMs;
          // A transaction dated in the future would keep others unannounced until then.
          if (createdMs <= nowMs + CLOCKS_MS) newestMs = Math.max(newestMs, createdMs);
        }
      }
      await this.#backOff(reading);
    }
    return this.#isStopped ? null : newestMs + 1;
  }

  /** If states are kept for longer now, transactions forgotten under the shorter time must not be announced again. */
  #forgottenToMs({ forgottenAfterMs, forgottenToMs }: PollRecord): number {
    const isRaised = forgottenAfterMs > 0 && forgottenAfterMs < this.#settings.forgottenAfterMs;
    return isRaised ? Math.max(forgottenToMs, this.#slowerNowMs() - forgottenAfterMs + CLOCKS_MS) : forgottenToMs;
  }

  /** By the slower of two clocks: transactions created before a wrong time would not be announced. */
  #slowerNowMs(): number {
    return Math.min(this.#clock.nowMs(), this.#port.brokersMs());
  }

  async #backOff(reading: ListReading): Promise<void> {
    if (reading.kind === 'page') {
      this.#failures = 0;
      return;
    }
    if (reading.cause === 'held') {
      await this.#port.wait(this.#settings.intervalMs);
      return;
    }
    // The next page is a shorter one.
    if (reading.isTooLong === true) return;
    const ownMs = Math.min(BACK_OFF_FIRST_MS * 2 ** this.#failures, BACK_OFF_MAX_MS);
    this.#failures = Math.min(this.#failures + 1, 16);
    await this.#port.wait(Math.max(ownMs, Math.min(reading.retryAfterMs ?? 0, PAUSE_REQUESTED_MAX_MS)));
  }

  #tickMs(): number {
    return Math.max(TICK_MIN_MS, Math.min(this.#settings.intervalMs / TICKS_PER_INTERVAL, TICK_MAX_MS));
  }
}
