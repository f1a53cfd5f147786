/**
 * Reads topics for tools and subscribers, read_committed: from the beginning, an instant, now, or where a group left off.
 *
 * Stages: fetch the end offsets -> join a group and seek each partition to its start -> deliver records, one at a time or
 * several keys at once, with heartbeats meanwhile -> ended (read to the end, or the handler failed), or closed by the owner.
 * Either way the reader waits for the handler, commits its records and leaves the group; only then `ended` settles.
 *
 * The consumer belongs to this object. Without a group id it uses a group of its own and commits nothing. Every rejoin rewinds
 * to committed offsets, so this object keeps the positions and seeks them again. With a group id it commits an offset after its
 * record was handled: a record may come twice, but none is skipped.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, IHeaders, Kafka, KafkaMessage } from 'kafkajs';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import { kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { registerCompressionCodecs } from 'payment-processor-contract/kafka/compression-codecs';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { CatchUp, type Place } from './catch-up.ts';
import { KeyedWork } from './keyed-work.ts';
import { placeName, rawRecordOf, type RawRecord } from './raw-record.ts';
import { subscribedAssigner } from './subscribed-assigner.ts';
import { readBounds, type Bounds } from './topic-bounds.ts';

export interface TopicRecord extends Omit<RawRecord, 'headers'> {
  /** The first value of a repeated header. */
  headers: Record<string, string>;
}

export type ReaderStart =
  | { from: 'beginning' }
  /** Records written after the reader was opened. */
  | { from: 'now' }
  /** Of each partition of the topics, the records from `low` on, and with `untilEnd` below `high`. */
  | { from: 'lows'; bounds: readonly Bounds[] }
  /** The first records with this timestamp or a later one, ms since 1970. */
  | { from: 'time'; ms: number }
  /** The group's committed position; a new group starts at the beginning. */
  | { from: 'group'; groupId: string };

export interface TopicReaderOptions {
  topics: readonly string[];
  start: ReaderStart;
  /**
   * True: the reader ends after the records that readers could get when it was opened. `written`: after all that were written; it
   * waits for transactions that were open.
   */
  untilEnd: boolean | 'written';
  /** Reads only this lane of each topic. Not with a group. */
  lane?: number;
  /** Delivers only the first record of each partition. */
  onlyFirst?: boolean;
  /** Reads at most this many offsets before each partition's end; not with a group. */
  newest?: number;
  /** Called for each partition with the number of offsets that `newest` skipped. */
  onLeftOut?: (topic: string, partition: number, offsets: bigint) => void;
  /** Called with the number of a partition's offsets up to its end that were deleted before they were read. */
  onDeleted?: (topic: string, partition: number, offsets: bigint) => void;
  /** Kafka has not answered for all retries; the reader tries again. */
  onOutage?: (problem: string) => void;
  /** Prefix of the reader's own group. */
  groupPrefix: string;
  /**
   * Awaited before the next record of its key; an error that it throws ends the reader.
   * @param raw the same record as bytes, each header with all of its values
   */
  onRecord: (record: TopicRecord, raw: () => RawRecord) => Promise<void> | void;
  limits?: ReaderLimits;
  /** How many keys of a partition are handled concurrently; records of one key stay in order. Default: 1. */
  concurrency?: number;
  /** With a group, when to commit offsets: within about a second (default), or before the next record. */
  commit?: 'interval' | 'each';
}

export interface ReaderLimits {
  /** Session timeout: the group drops a member that is silent for this long. */
  sessionTimeoutMs: number;
  /** How long a rebalance waits for this member to finish its record; then the group continues without it. */
  rebalanceTimeoutMs: number;
  /** Maximum bytes of one fetch per partition; a single larger batch still comes. */
  bytesPerPartitionMax: number;
  /** How long `close` waits for the handler. */
  closeTimeoutMs: number;
}

export interface TopicReader {
  /**
   * Settles once the member has left the group; no record follows. Rejects if the handler or the consumer failed permanently.
   */
  readonly ended: Promise<void>;
  /**
   * Waits at most `closeTimeoutMs` for the current record, commits it, leaves the group and disconnects. Do not await it
   * inside the handler.
   */
  close(): Promise<void>;
  /** Delivers no record until `resume`; the member stays in the group. */
  pause(): void;
  resume(): void;
  /**
   * Only for readers without a group.
   * @returns true: every record that was written there before this call is handled. False: the signal came first
   */
  caughtUp(place: Place, signal: AbortSignal): Promise<boolean>;
}

/** How long a broker may hold a fetch; it also delays a rebalance. */
const FETCH_WAIT_MS = 250;
/** Heartbeats per session: losing one or two does no harm. */
const HEARTBEATS_PER_SESSION = 5;
/** How often to commit a group's offsets while its records are slow. */
const COMMIT_INTERVAL_MS = 1_000;
/**
 * With `untilEnd` a caller waits, so it must learn of an outage that lasts this long, beyond the connection's retries. Other
 * readers retry through any outage. A refusal ends every reader.
 */
const OUTAGE_MS_MAX = 20_000;
/** A reading with an end that gets nothing for this long asks whether the rest was deleted. */
const IDLE_MS_MAX = 3_000;
/** Time to leave the group and disconnect after the handler has finished. */
const DISCONNECT_TIMEOUT_MS = 5_000;
const LIMITS_DEFAULT: ReaderLimits = {
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 60_000,
  bytesPerPartitionMax: 1024 * 1024,
  closeTimeoutMs: 5_000,
};

/**
 * @throws the client's error when no broker answers; an Error naming the topics that do not exist
 */
export async function openTopicReader(kafka: Kafka, options: TopicReaderOptions): Promise<TopicReader> {
  registerCompressionCodecs();
  const { start, topics } = options;
  const sinceMs = start.from === 'time' ? start.ms : null;
  const isOpenCounted = options.untilEnd === 'written';
  const bounds = 'bounds' in start ? start.bounds : await readBounds(kafka, topics, sinceMs, isOpenCounted);
  const reader = new RunningReader(kafka, options, bounds);
  await reader.open();
  return reader;
}

class RunningReader implements TopicReader {
  readonly ended: Promise<void>;
  readonly #kafka: Kafka;
  readonly #options: TopicReaderOptions;
  readonly #limits: ReaderLimits;
  readonly #consumer: Consumer;
  /** Next offset of each partition; unused with a group, whose offsets the brokers keep. */
  readonly #positions = new Map<string, { topic: string; partition: number; offset: bigint }>();
  /** Partitions not yet read to their end, with that end. */
  readonly #unread = new Map<string, bigint>();
  /** Other lanes, and with `onlyFirst` partitions whose record was found; later records there are skipped. */
  readonly #skipped = new Set<string>();
  readonly #catchUp: CatchUp;
  readonly #settle: { resolve: () => void; reject: (error: Error) => void };
  #stopped = false;
  /** The error that ended the reader, if any. */
  #failure: Error | null = null;
  #isPaused = false;
  /** When the consumer began to fail and restart. Null: it has fetched since. */
  #failingSinceMs: number | null = null;
  /** Since when fetches bring nothing; null: the last one brought something. */
  #idleSinceMs: number | null = null;
  #work: KeyedWork | null = null;
  #heartbeats: NodeJS.Timeout | undefined;
  #closing: Promise<void> | null = null;

  constructor(kafka: Kafka, options: TopicReaderOptions, bounds: readonly Bounds[]) {
    this.#kafka = kafka;
    this.#options = options;
    this.#limits = options.limits ?? LIMITS_DEFAULT;
    this.#catchUp = new CatchUp(kafka, options.topics, (place) => this.#positions.get(placeName(place))?.offset);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.ended = promise;
    // If the caller ignores `ended`, its rejection must not end the process.
    this.ended.catch(() => undefined);
    this.#settle = { resolve: () => resolve(undefined), reject };
    for (const { topic, partition, low, high } of bounds) {
      const skipped = options.lane !== undefined && options.lane !== partition;
      if (skipped) this.#skipped.add(placeName({ topic, partition }));
      const first = skipped ? low : firstOf({ low, high }, options.newest);
      if (first > low) options.onLeftOut?.(topic, partition, first - low);
      const offset = options.start.from === 'now' || skipped ? high : first;
      this.#positions.set(placeName({ topic, partition }), { topic, partition, offset });
      if (offset < high) this.#unread.set(placeName({ topic, partition }), high);
    }
    this.#consumer = kafka.consumer({
      groupId: options.start.from === 'group' ? options.start.groupId : `${options.groupPrefix}-${randomUUID()}`,
      partitionAssigners: [subscribedAssigner(kafka)],
      sessionTimeout: this.#limits.sessionTimeoutMs,
      heartbeatInterval: this.#heartbeatIntervalMs,
      rebalanceTimeout: this.#limits.rebalanceTimeoutMs,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      maxBytesPerPartition: this.#limits.bytesPerPartitionMax,
      readUncommitted: false,
      allowAutoTopicCreation: false,
    });
  }

  get #isGrouped(): boolean {
    return this.#options.start.from === 'group';
  }

  get #heartbeatIntervalMs(): number {
    return Math.floor(this.#limits.sessionTimeoutMs / HEARTBEATS_PER_SESSION);
  }

  async open(): Promise<void> {
    const { topics, untilEnd } = this.#options;
    if (untilEnd !== false && this.#unread.size === 0) {
      void this.close();
      return;
    }
    const consumer = this.#consumer;
    const grouped = this.#isGrouped;
    // A consumer recreated after a failure does not know about the pause.
    consumer.on(consumer.events.GROUP_JOIN, () => this.#applyPause());
    if (!grouped) consumer.on(consumer.events.GROUP_JOIN, () => this.#seekAll());
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      // Batches with only control or aborted records never reach the handler.
      if (payload.batchSize === 0) this.#passed(payload.topic, payload.partition, BigInt(payload.lastOffset) + 1n);
    });
    consumer.on(consumer.events.FETCH, () => {
      this.#failingSinceMs = null;
      if (untilEnd !== false) void this.#passDeleted();
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      const nowMs = performance.now();
      this.#failingSinceMs ??= nowMs;
      const isOutage = untilEnd !== false && nowMs - this.#failingSinceMs >= OUTAGE_MS_MAX;
      // kafkajs would retry even after a refusal, but our caller needs the error. Deferred, because kafkajs schedules
      // its restart after this event, and only then can it be cancelled.
      if (!payload.restart || isOutage || kafkaRefusal(payload.error) !== null)
        setImmediate(() => this.#fail(payload.error));
      else this.#options.onOutage?.(payload.error.message);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...topics], fromBeginning: true });
      await consumer.run({
        autoCommit: grouped,
        autoCommitInterval: grouped ? COMMIT_INTERVAL_MS : null,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#readBatch(payload),
      });
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#stopped = true;
    this.#closing ??= this.#disconnect();
    return this.#closing;
  }

  pause(): void {
    this.#isPaused = true;
    this.#applyPause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#applyPause();
  }

  caughtUp(place: Place, signal: AbortSignal): Promise<boolean> {
    return this.#catchUp.with(place, signal);
  }

  #applyPause(): void {
    const topics = this.#options.topics.map((topic) => ({ topic }));
    try {
      if (this.#isPaused) this.#consumer.pause(topics);
      else this.#consumer.resume(topics);
    } catch {
      // The consumer is not in the group, because Kafka is away or the reader has ended: it is paused when it joins.
    }
  }

  async #disconnect(): Promise<void> {
    if (this.#work !== null) await settledWithin(this.#work.settled(), this.#limits.closeTimeoutMs);
    // An unfinished handler gets no more heartbeats: its record goes to the next member.
    clearInterval(this.#heartbeats);
    await disconnectWithin(this.#consumer, DISCONNECT_TIMEOUT_MS);
    if (this.#failure === null) this.#settle.resolve();
    else this.#settle.reject(this.#failure);
  }

  #seekAll(): void {
    for (const { topic, partition, offset } of this.#positions.values()) {
      this.#consumer.seek({ topic, partition, offset: offset.toString() });
    }
  }

  async #readBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const position = this.#positions.get(placeName(batch));
    // The topic was deleted and recreated: none of its records was read.
    if (position !== undefined && BigInt(batch.highWatermark) < position.offset) position.offset = 0n;
    const work = new KeyedWork(this.#options.concurrency ?? 1);
    this.#work = work;
    this.#idleSinceMs = null;
    this.#heartbeats = this.#startHeartbeats(payload);
    try {
      for (const message of batch.messages) {
        await work.slot();
        if (this.#stopped || this.#isPaused || !payload.isRunning() || payload.isStale()) return;
        // kafkajs delivers all fetched records before it rejoins. So we send a heartbeat here, which throws during a
        // rebalance. kafkajs then commits the handled records, which the coordinator still accepts, and rejoins.
        await payload.heartbeat();
        const offset = BigInt(message.offset);
        // A late seek delivers records that were already read.
        const isNew = this.#isGrouped || position === undefined || offset >= position.offset;
        const isHandled = isNew && this.#isWanted(batch, offset);
        if (isHandled && this.#options.onlyFirst === true) this.#skipped.add(placeName(batch));
        work.begin(
          message.key?.toString('latin1') ?? '',
          async () => !isHandled || this.#handle(payload, message),
          () => {
            if (!this.#isGrouped && isNew && position !== undefined) position.offset = offset + 1n;
            payload.resolveOffset(message.offset);
          },
          async () => this.#commit(payload),
        );
      }
    } finally {
      // In a rebalance, current records are handled and committed before the member rejoins.
      await work.settled();
      clearInterval(this.#heartbeats);
      this.#work = null;
    }
    await work.finish();
    if (this.#stopped) return;
    // A transaction's closing control record counts as read with the last record before it.
    payload.resolveOffset(batch.lastOffset());
    this.#passed(batch.topic, batch.partition, BigInt(batch.lastOffset()) + 1n);
  }

  /** Keeps the member in its group while records are handled: a coordinator that rebalances waits while heartbeats arrive. */
  #startHeartbeats(payload: EachBatchPayload): NodeJS.Timeout {
    let isSending = false;
    return setInterval(() => {
      if (isSending) return;
      isSending = true;
      void payload
        .heartbeat()
        // The reader calls it again before the next record, and then acts on the error.
        .catch(() => undefined)
        .finally(() => (isSending = false));
    }, this.#heartbeatIntervalMs);
  }

  #isWanted(batch: { topic: string; partition: number }, offset: bigint): boolean {
    const name = placeName(batch);
    if (this.#skipped.has(name)) return false;
    const { start, untilEnd } = this.#options;
    // Without an end in `#unread`, the partition has none of the wanted records.
    return start.from !== 'lows' || untilEnd === false || offset < (this.#unread.get(name) ?? 0n);
  }

  async #commit(payload: EachBatchPayload): Promise<void> {
    if (!this.#isGrouped) return;
    if (this.#options.commit === 'each') await payload.commitOffsetsIfNecessary(payload.uncommittedOffsets());
    else await payload.commitOffsetsIfNecessary();
  }

  /** False: the handler failed, and the reader ends. Its exception must not reach kafkajs, which would retry. */
  async #handle({ batch: { partition, topic } }: EachBatchPayload, message: KafkaMessage): Promise<boolean> {
    // Skips records that waited behind a failed one of their key. Records that wait when the reader closes are still handled.
    if (this.#failure !== null) return false;
    try {
      await this.#options.onRecord(recordOf(topic, partition, message), () => rawRecordOf(topic, partition, message));
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** The consumer has passed all records below the offset, including control and aborted ones. */
  #passed(topic: string, partition: number, offset: bigint): void {
    if (this.#stopped) return;
    const name = placeName({ topic, partition });
    const position = this.#positions.get(name);
    if (position !== undefined && offset > position.offset) position.offset = offset;
    const end = this.#unread.get(name);
    if (end === undefined || (offset < end && !this.#skipped.has(name))) return;
    this.#unread.delete(name);
    if (this.#options.untilEnd !== false && this.#unread.size === 0) void this.close();
  }

  /** Where the rest of a partition is deleted, kafkajs waits at its end and no record or event comes. */
  async #passDeleted(): Promise<void> {
    const nowMs = performance.now();
    this.#idleSinceMs ??= nowMs;
    if (nowMs - this.#idleSinceMs < IDLE_MS_MAX) return;
    this.#idleSinceMs = nowMs;
    // If this fails, a later fetch asks again.
    const bounds = await readBounds(this.#kafka, this.#options.topics).catch(() => []);
    for (const { low, partition, topic } of bounds) {
      const name = placeName({ topic, partition });
      const [end, position] = [this.#unread.get(name), this.#positions.get(name)];
      // Records that were fetched before they were deleted are still handled.
      if (this.#stopped || this.#work !== null || end === undefined || position === undefined || low < end) continue;
      this.#options.onDeleted?.(topic, partition, end - position.offset);
      this.#passed(topic, partition, low);
    }
  }

  #fail(error: unknown): void {
    if (this.#stopped) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    void this.close();
  }
}

function firstOf({ high, low }: PartitionOffsets, newest: number | undefined): bigint {
  if (newest === undefined) return low;
  const first = high - BigInt(newest);
  return first > low ? first : low;
}

function recordOf(
  topic: string,
  partition: number,
  message: { offset: string; timestamp: string; key: Buffer | null; value: Buffer | null; headers?: IHeaders },
): TopicRecord {
  const headers = Object.entries(message.headers ?? {}).flatMap(([name, given]) => {
    // May be null, although kafkajs' types do not say so.
    const first = (Array.isArray(given) ? given[0] : given) as Buffer | string | null | undefined;
    return first == null ? [] : [[name, first.toString()] as const];
  });
  return {
    topic,
    partition,
    offset: BigInt(message.offset),
    timestampMs: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: Object.fromEntries(headers),
  };
}
