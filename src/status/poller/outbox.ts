/**
 * The poller's news on its way to the lane: held until the command that caused it is known (held-news.ts), then published.
 *
 *   idle     nothing is held or to be noted, and no record waits to be written
 *   working  reads the ledger further; publishes news that is free; writes a record once all news before it is published
 *   failed   publishing failed: `throwIfFailed` ends the session
 *
 * Held news is only in memory. The record of how far the service was read waits for it, so a successor reads the same pages
 * again.
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { PossibleEffect } from '../../ledger/effect.ts';
import type { Observation } from '../observation.ts';
import type { TransactionState } from '../transaction-state.ts';
import { EffectNotes } from './effect-notes.ts';
import { HeldNews } from './held-news.ts';
import { observationsOf, PollNews, type ListedPage, type PolledObservation } from './news.ts';
import type { PollRecord } from './record.ts';

/** Where the ledger ends, by lane, including transactions that are not marked as committed yet. */
export type LedgerEnds = ReadonlyMap<number, bigint>;

export interface OutboxPort {
  readonly processId: string;
  /** Undefined: there is none; null: this release cannot read it. */
  state(id: string): TransactionState | null | undefined;
  ledgerEnds(): Promise<LedgerEnds>;
  /** Whether the index shows everything below these ends. */
  hasApplied(ends: LedgerEnds): boolean;
  /** Possible effects of all calls without a known answer, according to the index. */
  possibleEffects(): PossibleEffect[];
  /** Resolves once the lane has committed everything; rejects if that is not certain. */
  publish(observations: readonly Observation[], record: PollRecord | null): Promise<void>;
  wait(ms: number): Promise<void>;
}

export interface OutboxOptions {
  readonly port: OutboxPort;
  readonly clock: Clock;
  readonly heldForMsMax: number;
  readonly onPublished: (observations: number) => void;
}

/** Pause between checks of held news. */
const LOOK_MS = 100;

export class PollOutbox {
  readonly #options: OutboxOptions;
  readonly #news: PollNews;
  readonly #held: HeldNews;
  readonly #notes: EffectNotes;
  #additions = 0;
  /** Number of the last addition after which the ledger was read to its end, or for `heldForMsMax`. */
  #readUpTo = 0;
  #readingOn: Promise<void> | null = null;
  #reading: { readonly ends: LedgerEnds; readonly addition: number; readonly askedMs: number } | null = null;
  #record: { readonly record: PollRecord; readonly addition: number } | null = null;
  #isWorking = false;
  #isStopped = false;
  #failure: { readonly error: unknown } | null = null;

  constructor(options: OutboxOptions) {
    const { heldForMsMax, port } = options;
    this.#options = options;
    this.#news = new PollNews((id) => port.state(id));
    this.#held = new HeldNews(heldForMsMax);
    this.#notes = new EffectNotes((id) => port.state(id));
  }

  isFull(): boolean {
    return this.#held.isFull();
  }

  /** The outbox publishes the page's news once the commands that caused it are known. */
  add(page: ListedPage): void {
    const nowMs = this.#options.clock.monotonicMs();
    const shown = observationsOf(page, this.#options.port.processId);
    const news = this.#news.among(shown, page).filter(({ transaction }) => !this.#held.has(transaction));
    const addition = this.#additions + 1;
    if (!this.#notes.sight(shown, addition, nowMs) && news.length === 0) return;
    this.#additions = addition;
    this.#held.add(news, addition, nowMs);
    this.#begin();
  }

  /** The outbox writes the record once everything added before is published. While a record waits, it ignores later ones. */
  note(record: PollRecord): void {
    this.#record ??= { record, addition: this.#additions };
    this.#begin();
  }

  stateChanged(state: TransactionState): void {
    this.#news.stateChanged(state);
    this.#held.stateChanged(state);
  }

  /** @throws what `publish` rejected with */
  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  stop(): void {
    this.#isStopped = true;
  }

  #begin(): void {
    if (this.#isWorking || this.#failure !== null) return;
    this.#isWorking = true;
    void this.#work();
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    try {
      while (!this.#isStopped && (this.#isWaiting() || this.#record !== null)) await this.#look();
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#isWorking = false;
    }
  }

  async #look(): Promise<void> {
    const { clock, port } = this.#options;
    // Notes do not wait for a broker that does not answer.
    this.#readingOn ??= this.#readOn().finally(() => (this.#readingOn = null));
    await Promise.race([this.#readingOn, port.wait(LOOK_MS)]);
    const nowMs = clock.monotonicMs();
    const stateOf = (id: string): TransactionState | undefined => port.state(id) ?? undefined;
    // Entries without a result may be tens of thousands.
    const possibleEffects = this.#held.size > 0 || this.#notes.isDue(nowMs) ? port.possibleEffects() : [];
    const look = { readUpTo: this.#readUpTo, possibleEffects, stateOf, nowMs };
    const noted = this.#notes.take(look);
    const free = this.#held.take(look);
    await this.#publish(free, noted);
    if (this.#isWaiting()) await port.wait(LOOK_MS);
  }

  #isWaiting(): boolean {
    return this.#held.size + this.#notes.size > 0;
  }

  async #publish(free: readonly PolledObservation[], noted: readonly PolledObservation[]): Promise<void> {
    const { clock, onPublished, port } = this.#options;
    const firstAddition = Math.min(this.#held.firstAddition(), this.#notes.firstAddition());
    const isRecordDue = this.#record !== null && firstAddition > this.#record.addition;
    const record = isRecordDue ? this.#record : null;
    if (this.#isStopped || (free.length + noted.length === 0 && record === null)) return;
    await port.publish([...free, ...noted], record?.record ?? null);
    this.#news.published(free, clock.monotonicMs());
    if (this.#record === record) this.#record = null;
    if (free.length > 0) onPublished(free.length);
  }

  /** Asks where the ledger ends, for additions since the last such request. Advances `#readUpTo` once it has been read to that end. */
  async #readOn(): Promise<void> {
    const { clock, heldForMsMax, port } = this.#options;
    if (this.#reading === null && this.#readUpTo < this.#additions) {
      const asked = { addition: this.#additions, askedMs: clock.monotonicMs() };
      // If the brokers do not answer, held news waits until they do, or until its time is over.
      const ends = await port.ledgerEnds().catch(() => null);
      this.#reading = ends === null ? null : { ...asked, ends };
    }
    if (this.#reading === null) return;
    const { addition, askedMs, ends } = this.#reading;
    // An open transaction blocks readers from the ledger's end: for 15 s if its process died, longer without its coordinator.
    if (!port.hasApplied(ends) && clock.monotonicMs() - askedMs < heldForMsMax) return;
    this.#readUpTo = addition;
    this.#reading = null;
  }
}
