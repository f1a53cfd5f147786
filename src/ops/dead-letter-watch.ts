/**
 * The open dead letters, read from their topic: those that no operator has redriven or acknowledged.
 *
 *   start   reads the newest records of each partition, then follows it; restarts after a failure; until stop
 *
 * Owns its consumer, and a bounded list of open letters with place and reason.
 */
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { TopicTail, type TailedRecord, type TailOptions } from '../consumers/topic-tail.ts';
import { notedOffset } from '../producers/dead-letter-notes.ts';
import type { DeadLetterReason } from '../producers/dead-letters.ts';

export interface OpenLetters {
  readonly reason: string;
  readonly count: number;
  readonly lastAt: string;
}

export interface DeadLetterWatchOptions extends Pick<
  TailOptions,
  'settings' | 'groupId' | 'clientId' | 'topic' | 'partitionCount' | 'sessionTimeoutMs' | 'log'
> {
  readonly ends: () => Promise<ReadonlyMap<number, PartitionOffsets>>;
  /** Reading failed and is retried. */
  readonly onProblem: (error: unknown) => void;
}

interface Letter {
  readonly partition: number;
  readonly offset: bigint;
  readonly reason: string;
  readonly atMs: number;
}

/** This many letters usually share one cause. Beyond the limit we forget the oldest. */
const OPEN_MAX = 10_000;
/** Offsets of a partition that a process reads at its start, so that a flood of letters does not delay it. */
const READ_MAX = BigInt(OPEN_MAX);
const AGAIN_AFTER_MS = 30_000;
/** The operator who published it got an answer, so no one has to act. */
const ANSWERED: DeadLetterReason = 'REFUSED_DECISION';

export class DeadLetterWatch {
  readonly #options: DeadLetterWatchOptions;
  readonly #open = new Map<string, Letter>();
  readonly #next = new Map<number, bigint>();
  /** The same, but past offsets that hold nothing for readers. */
  readonly #passed = new Map<number, bigint>();
  /** The partition ends when reading began; null: it does not read. */
  #ends: ReadonlyMap<number, PartitionOffsets> | null = null;
  #tail: TopicTail | null = null;
  #again: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: DeadLetterWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#read().catch((error: unknown) => this.#failed(error));
  }

  async #read(): Promise<void> {
    const ends = await this.#options.ends();
    for (const [partition, { high, low }] of ends) {
      const next = this.#next.get(partition) ?? high - READ_MAX;
      this.#next.set(partition, next > low ? next : low);
    }
    if (this.#isStopped) return;
    const tail = new TopicTail({
      ...this.#options,
      takesKeyless: true,
      nextOffset: (partition) => this.#next.get(partition) ?? 0n,
      onRecords: (partition, records, nextOffset) => this.seen(partition, records, nextOffset),
      onFiltered: (partition, _first, last) => void this.#passed.set(partition, last + 1n),
      onFetched: () => undefined,
      onFatal: (error) => void this.#failed(error),
    });
    this.#tail = tail;
    await tail.start();
    this.#ends = ends;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#again);
    await this.#tail?.stop();
  }

  seen(partition: number, records: readonly TailedRecord[], nextOffset: bigint): void {
    this.#next.set(partition, nextOffset);
    this.#passed.set(partition, nextOffset);
    for (const { headers, offset, timestampMs } of records) {
      const header = (name: string): string | undefined => (name in headers ? String(headers[name]) : undefined);
      const noted = notedOffset(header);
      const reason = header('dlq-reason') ?? 'without a reason';
      if (noted !== null) this.#open.delete(`${partition}/${noted}`);
      else if (reason !== ANSWERED)
        this.#open.set(`${partition}/${offset}`, { partition, offset, reason, atMs: timestampMs });
      const [oldest] = this.#open.keys();
      if (this.#open.size > OPEN_MAX && oldest !== undefined) this.#open.delete(oldest);
    }
  }

  /** True once all letters are read. Before that, and while reading fails, more may be open. */
  isRead(): boolean {
    const ends = this.#ends === null ? null : [...this.#ends];
    return ends?.every(([partition, { high, low }]) => (this.#passed.get(partition) ?? low) >= high) === true;
  }

  /** @param lowOf first offset of the partition; letters that retention removed are no longer open */
  open(lowOf: (partition: number) => bigint): OpenLetters[] {
    for (const [place, { offset, partition }] of this.#open) if (offset < lowOf(partition)) this.#open.delete(place);
    return [...Map.groupBy(this.#open.values(), ({ reason }) => reason)].map(([reason, letters]) => {
      const lastMs = Math.max(...letters.map(({ atMs }) => atMs));
      return { reason, count: letters.length, lastAt: new Date(lastMs).toISOString() };
    });
  }

  async #failed(error: unknown): Promise<void> {
    this.#ends = null;
    this.#options.onProblem(error);
    await this.#tail?.stop();
    clearTimeout(this.#again);
    if (!this.#isStopped) this.#again = setTimeout(() => this.start(), AGAIN_AFTER_MS).unref();
  }
}
