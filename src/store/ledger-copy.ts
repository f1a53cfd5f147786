/**
 * This process's copy of the ledger: the local store, the reader that keeps it up to date, and the progress of its restore.
 *
 *   made -> opened (the store compared with the topic, the reader connected; may be retried) -> read continuously -> stopped
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { Config } from 'payment-processor-contract/config';
import { tombstonesKeptMs } from 'payment-processor-contract/topic-definitions';
import type { TopicNames } from 'payment-processor-contract/topics';
import { commandView, type CommandView } from './command-view.ts';
import { LedgerReader, type LedgerReaderOptions } from './ledger-reader.ts';
import { LedgerRestore } from './ledger-restore.ts';
import { openLedgerStore, type LedgerStartOptions } from './ledger-start.ts';
import { ledgerStatus, otherLaneCount, type LedgerStatus } from './ledger-view.ts';
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

export class LedgerCopy {
  readonly #options: LedgerCopyOptions;
  readonly #restore: LedgerRestore;
  readonly index: LmdbLedgerIndex;
  readonly reader: LedgerReader;
  #topicId: string | null = null;
  #hasNewLanes = false;
  #isStopped = false;

  constructor(options: LedgerCopyOptions) {
    const { clock, config, reader, topics } = options;
    this.#options = options;
    this.#restore = new LedgerRestore(clock);
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
      onPosition: (lane, nextOffset) => this.#restore.reached(lane, nextOffset),
    });
  }

  /**
   * Opens store and reader together: after a wait the store must be compared with the topic again. May be called again after it
   * rejects: neither is open then.
   * @throws StateDirectoryError, LedgerShortenedError, or the client's error if no broker answers
   */
  async open(): Promise<void> {
    const { clock, config, log, reader, topics } = this.#options;
    this.#restore.began();
    try {
      const { awayMsMax, ends, topicId } = await openLedgerStore({
        settings: config,
        clientId: reader.clientId,
        topic: topics.ledger,
        laneCount: reader.laneCount,
        index: this.index,
        tombstonesKeptMs: tombstonesKeptMs(config),
        clock,
        log,
      });
      this.#topicId = topicId;
      const empty = [...ends.values()].filter((end) => end === 0n).length;
      this.#hasNewLanes = empty > 0 && empty < ends.size;
      this.#restore.await(ends);
      if (!this.#isStopped) await this.reader.start(awayMsMax);
    } catch (error) {
      await this.index.close();
      throw error;
    }
    if (this.#isStopped) await this.stop();
  }

  /** Id of the topic that the store was built from; null: the brokers have no topic ids. */
  topicId(): string | null {
    return this.#topicId;
  }

  /** Our offset in a lane's part of the ledger, and the topic id that it belongs to; null for any other topic. */
  reading(topic: string, lane: number): { offset: bigint; boundId: string | undefined } | null {
    if (topic !== this.#options.topics.ledger) return null;
    return { offset: this.reader.position(lane), boundId: this.#topicId ?? undefined };
  }

  /** Whether it has been read to the end that it had when it was opened. */
  isRead(): boolean {
    return this.#restore.status()?.isUnderWay !== true;
  }

  /** When it was opened, some lanes had been used and others had not. */
  hasNewLanes(): boolean {
    return this.#hasNewLanes;
  }

  /** By how many lanes an owner divided the keys, if not by as many as we; null: none, in what was read so far. */
  otherLaneCount(): number | null {
    return otherLaneCount(this.index, this.#options.reader.laneCount);
  }

  /** The ledger's view of all lanes, including those of other processes. */
  status(): LedgerStatus {
    const { index, reader } = this;
    return ledgerStatus({ laneCount: this.#options.reader.laneCount, index, reader, restore: this.#restore });
  }

  /** The ledger's view of one command, in any lane. */
  command(key: string): CommandView {
    const { index, reader } = this;
    return commandView({ laneCount: this.#options.reader.laneCount, index, reader }, key);
  }

  /** Applies everything read so far. Bounded. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.reader.stop();
    await this.index.close();
  }
}
