/**
 * Follows the dead-letter topic and keeps the open letters: those that no operator has redriven or acknowledged.
 *
 *   start   reads the newest records of each partition, then follows it until stop; restarts after a failure
 *
 * Owns its consumer, and a bounded list of open letters with offset and reason.
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

/** That many letters usually share one cause, so beyond the limit we forget the oldest. */
const OPEN_MAX = 10_000;
/** Limit of offsets that a process reads per partition at its start, so that a flood of letters does not delay it. */
const READ_MAX = BigInt(OPEN_MAX);
const RETRY_AFTER_MS = 30_000;
/** The operator whose decision was refused got an answer, so no one has to act. */
const ANSWERED: DeadLetterReason = 'REFUSED_DECISION';

export class DeadLetterWatch {
  readonly #options: DeadLetterWatchOptions;
  readonly #open = new Map<string, Letter>();
  /** The next offset by partition, past those that readers never get. */
  readonly #next = new Map<number, bigint>();
  /** Partition ends when reading began; null while not reading. */
  #ends: ReadonlyMap<number, PartitionOffsets> | null = null;
  #tail: TopicTail | null = null;
  #retryTimer: NodeJS.Timeout | undefined;
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
      onRecords: (partition, records, nextOffset) => this.apply(partition, records, nextOffset),
      onFiltered: (partition, _first, last) => void this.#next.set(partition, last + 1n),
      onFetched: () => undefined,
      onFatal: (error) => void this.#failed(error),
    });
    this.#tail = tail;
    await tail.start();
    this.#ends = ends;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#retryTimer);
    await this.#tail?.stop();
  }

  apply(partition: number, records: readonly TailedRecord[], nextOffset: bigint): void {
    this.#next.set(partition, nextOffset);
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

  /** False until the newest letters (READ_MAX in each partition) are read, and while reading fails: more may be open. */
  isRead(): boolean {
    const ends = this.#ends === null ? null : [...this.#ends];
    return ends?.every(([partition, { high, low }]) => (this.#next.get(partition) ?? low) >= high) === true;
  }

  /** @param lowOf first offset of the partition; a letter that retention removed is no longer open */
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
    clearTimeout(this.#retryTimer);
    if (!this.#isStopped) this.#retryTimer = setTimeout(() => this.start(), RETRY_AFTER_MS).unref();
  }
}
