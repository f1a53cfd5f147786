/**
 * This process's copy of the ledger: the local store, the reader that keeps it current, and its restore's progress.
 *
 *   made -> opened (store compared with the topic, reader connected; may be retried) -> read continuously -> stopped
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { Config } from 'payment-processor-contract/config';
import { laneOf } from 'payment-processor-contract/keys';
import { tombstonesKeptMs } from 'payment-processor-contract/topic-definitions';
import type { TopicNames } from 'payment-processor-contract/topics';
import { decodeHolds, NO_HOLDS } from '../ledger/holds.ts';
import { HOLD_KEY } from '../ledger/ledger-records.ts';
import { LedgerFormatError, readable } from '../ledger/ledger-value.ts';
import { LedgerReader, type LedgerReaderOptions } from './ledger-reader.ts';
import { LedgerShortenedError, openLedgerStore, type LedgerStartOptions } from './ledger-start.ts';
import type { CommandView, LedgerLaneStatus, LedgerStatus, RestoreStatus } from './ledger-view.ts';
import { LmdbLedgerIndex } from './lmdb-ledger-index.ts';

export interface LedgerCopyOptions {
  readonly config: Config;
  readonly topics: Pick<TopicNames, 'ledger'>;
  readonly reader: Omit<LedgerReaderOptions, 'settings' | 'topic' | 'index' | 'onPosition'>;
  readonly clock: Clock;
  readonly log: LedgerStartOptions['log'];
  /** Replaces the process's own store under STATE_DIR. */
  readonly index?: LmdbLedgerIndex;
}

/** As many as fit on a page; the ledger has them all. */
const OLDEST_UNKNOWN_MAX = 20;

export class LedgerCopy {
  readonly #options: LedgerCopyOptions;
  readonly index: LmdbLedgerIndex;
  readonly reader: LedgerReader;
  #topicId: string | null = null;
  #hasNewLanes = false;
  #isStopped = false;
  /** When it was first opened, on the monotonic clock: opening may be retried. */
  #beganMs: number | null = null;
  /** When `open` first and last found that the ledger ends before what the store has read; null: it does not. */
  #shortened: { readonly firstMs: number; readonly lastMs: number } | null = null;
  /** When it was read to the ends that it had when it was opened. Later records are the tail. */
  #restoredMs: number | null = null;
  /** Those ends that are not reached yet, by lane; null: not known. */
  #awaitedEnds: Map<number, bigint> | null = null;

  constructor(options: LedgerCopyOptions) {
    const { clock, config, reader, topics } = options;
    this.#options = options;
    this.index =
      options.index ??
      new LmdbLedgerIndex({
        stateDirectory: config.STATE_DIR,
        laneCount: reader.laneCount,
        nowMs: () => clock.nowMs(),
        onFatal: reader.onFatal,
      });
    this.reader = new LedgerReader({
      ...reader,
      settings: config,
      topic: topics.ledger,
      index: this.index,
      onPosition: (lane, nextOffset) => this.#reached(lane, nextOffset),
    });
  }

  /**
   * Opens store and reader together: after a wait the store must be compared with the topic again. May be called again
   * after it rejects: neither is open then.
   * @throws StateDirectoryError, LedgerShortenedError, or the client's error if no broker answers
   */
  async open(): Promise<void> {
    const { clock, config, log, reader, topics } = this.#options;
    this.#beganMs ??= clock.monotonicMs();
    try {
      const { awayMsMax, ends, topicId } = await openLedgerStore({
        settings: config,
        clientId: reader.clientId,
        topic: topics.ledger,
        laneCount: reader.laneCount,
        index: this.index,
        tombstonesKeptMs: tombstonesKeptMs(config),
        shortMs: this.#shortened === null ? 0 : this.#shortened.lastMs - this.#shortened.firstMs,
        clock,
        log,
      });
      this.#topicId = topicId;
      this.#shortened = null;
      const empty = [...ends.values()].filter((end) => end === 0n).length;
      this.#hasNewLanes = empty > 0 && empty < ends.size;
      this.#awaitedEnds = new Map(ends);
      this.#restoredMs = null;
      for (const lane of ends.keys()) this.#reached(lane, 0n);
      if (!this.#isStopped) await this.reader.start(awayMsMax);
    } catch (error) {
      if (error instanceof LedgerShortenedError) {
        const lastMs = clock.monotonicMs();
        this.#shortened = { firstMs: this.#shortened?.firstMs ?? lastMs, lastMs };
      }
      await this.index.close();
      throw error;
    }
    if (this.#isStopped) await this.stop();
  }

  /** Id of the topic that the store was built from; null: not opened yet, or the brokers have no topic ids. */
  topicId(): string | null {
    return this.#topicId;
  }

  /** Our offset in a lane's part of the ledger, and the topic id that it belongs to; null for any other topic. */
  reading(topic: string, lane: number): { offset: bigint; boundId: string | undefined } | null {
    if (topic !== this.#options.topics.ledger) return null;
    return { offset: this.reader.position(lane), boundId: this.#topicId ?? undefined };
  }

  /** Whether it has been read to the end that it had when it was opened; before `open`, true. */
  isRead(): boolean {
    return this.#restore()?.isUnderWay !== true;
  }

  /** Whether, when it was opened, some lanes had been used and others had not. */
  hasNewLanes(): boolean {
    return this.#hasNewLanes;
  }

  /** Among how many lanes an owner divided the keys, if that is not our number; null: none in what was read so far. */
  otherLaneCount(): number | null {
    return otherLaneCount(this.index, this.#options.reader.laneCount);
  }

  /** The ledger's view of all lanes, including those of other processes. */
  status(): LedgerStatus {
    const { index, reader } = this;
    const restore = this.#restore();
    if (!index.isOpen()) return { lanes: [], oldestUnknown: [], restore, disk: null };
    const { laneCount } = this.#options.reader;
    const lanes = Array.from({ length: laneCount }, (_, lane): LedgerLaneStatus => {
      const { holds } = readable(() => decodeHolds(index.value(lane, HOLD_KEY))) ?? NO_HOLDS;
      const owner = readable(() => index.owner(lane)) ?? null;
      return { lane, owner, nextOffset: reader.position(lane), unknown: index.unknown(lane), holds };
    });
    const oldestUnknown = lanes
      .filter(({ unknown }) => unknown.length > 0)
      .flatMap(({ lane }) => index.oldestUnknown(lane, OLDEST_UNKNOWN_MAX).map((result) => ({ ...result, lane })))
      .sort((left, right) => left.completedMs - right.completedMs)
      .slice(0, OLDEST_UNKNOWN_MAX);
    return { lanes, oldestUnknown, restore, disk: index.disk() };
  }

  /**
   * The ledger's view of one command, in any lane. Reads at most two rows.
   * @param key without the prefix of the ledger
   */
  command(key: string): CommandView {
    const { index, reader } = this;
    if (!index.isOpen() || !this.isRead()) return { kind: 'not-read' };
    const lane = laneOf(key, this.#options.reader.laneCount);
    try {
      const entry = index.entry(lane, key);
      if (entry === undefined) return { kind: 'unknown', lane, nextOffset: reader.position(lane) };
      return { kind: 'known', lane, entry, owner: index.owner(lane) ?? null };
    } catch (error) {
      if (error instanceof LedgerFormatError) return { kind: 'unreadable', lane, problem: error.message };
      throw error;
    }
  }

  /** Everything before the offset has been applied. */
  #reached(lane: number, offset: bigint): void {
    const end = this.#awaitedEnds?.get(lane);
    if (end !== undefined && offset >= end) this.#awaitedEnds?.delete(lane);
    if (this.#awaitedEnds?.size === 0) this.#restoredMs ??= this.#options.clock.monotonicMs();
  }

  /** Null before it began. */
  #restore(): RestoreStatus | null {
    if (this.#beganMs === null) return null;
    const untilMs = this.#restoredMs ?? this.#options.clock.monotonicMs();
    return { isUnderWay: this.#restoredMs === null, seconds: (untilMs - this.#beganMs) / 1000 };
  }

  /** Applies nothing more, and writes what was applied. Bounded. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.reader.stop();
    await this.index.close();
  }
}

/** As `LedgerCopy.otherLaneCount`. Skips owner records of another format: their lanes stop by themselves. */
export function otherLaneCount(index: Pick<LmdbLedgerIndex, 'owner'>, laneCount: number): number | null {
  const recorded = Array.from({ length: laneCount }, (_, lane) => readable(() => index.owner(lane))?.laneCount ?? 0);
  return recorded.find((count) => count !== 0 && count !== laneCount) ?? null;
}
