/**
 * Reads topics for tools and subscribers, read_committed: from the beginning, an instant or now on, or where a group left off.
 *
 * Stages: end offsets are asked for -> the consumer joins a group and each partition is sought to its start -> records
 * are handed over, one at a time or several keys at once, with heartbeats meanwhile -> ended (all that was there was read, or the
 * handler failed), or closed by the owner: either way the handler is waited for, what it handled is committed, the group
 * is left, and only then `ended` settles.
 *
 * The consumer belongs to this object. Without a group id it uses a group of its own that commits nothing; since every
 * rejoin rewinds to committed offsets, the positions are kept here and sought again. With a group id, an offset is
 * committed after its record was handled: a record may come twice, and none is left out.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, IHeaders, Kafka, KafkaMessage } from 'kafkajs';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import { kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { settledWithin } from 'payment-processor-contract/kafka/settled-within';
import { laneOf } from 'payment-processor-contract/keys';
import { registerCompressionCodecs } from 'payment-processor-contract/kafka/compression-codecs';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { KeyedWork } from './keyed-work.ts';
import { placeName, rawRecordOf, type RawRecord } from './record-at.ts';
import { startHeartbeats, type Heartbeats } from './steady-heartbeats.ts';
import { subscribedAssigner } from './subscribed-assigner.ts';
import { readBounds, type Bounds } from './topic-bounds.ts';

export interface TopicRecord extends Omit<RawRecord, 'headers'> {
  /** Of a repeated header the first. */
  headers: Record<string, string>;
}

export type ReaderStart =
  | { from: 'beginning' }
  /** Records written after the reader was opened. */
  | { from: 'now' }
  /** Records written after these bounds of the topics were read. */
  | { from: 'ends'; bounds: readonly Bounds[] }
  /** The first records with this timestamp or a later one, ms since 1970. */
  | { from: 'time'; ms: number }
  /** Where the group left off; a new group begins at the beginning. */
  | { from: 'group'; groupId: string };

export interface TopicReaderOptions {
  topics: readonly string[];
  start: ReaderStart;
  /** True: the reader ends when it has read all that was there when it was opened. */
  untilEnd: boolean;
  /** Reads of each topic the lane of this key alone. Not with a group. */
  laneOfKey?: string;
  /** Of each partition no more than so many offsets before its end; not with a group. */
  newest?: number;
  /** Told of each partition of which `newest` left out so many offsets. */
  onLeftOut?: (topic: string, partition: number, offsets: bigint) => void;
  /** First part of the name of the reader's own group. */
  groupPrefix: string;
  /**
   * Awaited before the next record of its key; what it throws ends the reader.
   * @param raw the same as its bytes are, each header with all of its values
   */
  onRecord: (record: TopicRecord, raw: () => RawRecord) => Promise<void> | void;
  limits?: ReaderLimits;
  /** Records of so many keys of a partition at once, of one key in order; 1 if not given. */
  concurrency?: number;
  /** With a group, when offsets are committed: within about a second, if not given, or before the next record. */
  commit?: 'interval' | 'each';
}

interface ReaderLimits {
  /** A member of which the group has heard nothing for this long is counted out. */
  sessionTimeoutMs: number;
  /** How long a rebalance waits for this member to be done with its record; then the group goes on without it. */
  rebalanceTimeoutMs: number;
  /** What one fetch takes of a partition at most; a single larger batch comes all the same. */
  bytesPerPartitionMax: number;
  /** How long closing waits for the handler. */
  closeTimeoutMs: number;
}

export interface TopicReader {
  /** Settles once the group is left and no more comes: rejects if the handler or the consumer failed for good. */
  readonly ended: Promise<void>;
  /**
   * Waits for the record that is being handled, for `closeTimeoutMs` at most, commits it, leaves the group and
   * disconnects. Not to be awaited inside the handler.
   */
  close(): Promise<void>;
  /** No further record is handed over until `resume`; its place in the group is kept. */
  pause(): void;
  resume(): void;
}

/** How long a broker may hold a fetch; also the delay of a rebalance. */
const FETCH_WAIT_MS = 250;
/** Heartbeats within one session: the loss of one or two does no harm. */
const HEARTBEATS_PER_SESSION = 5;
/** How often a group's offsets are committed while its records are slow. */
const COMMIT_INTERVAL_MS = 1_000;
/** For leaving the group and disconnecting, once the handler is done. */
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
  const bounds = start.from === 'ends' ? start.bounds : await readBounds(kafka, topics, sinceMs);
  const reader = new RunningReader(kafka, options, bounds);
  await reader.open();
  return reader;
}

class RunningReader implements TopicReader {
  readonly ended: Promise<void>;
  readonly #options: TopicReaderOptions;
  readonly #limits: ReaderLimits;
  readonly #consumer: Consumer;
  /** Next offset of each partition; not used with a group, whose offsets the brokers keep. */
  readonly #positions = new Map<string, { topic: string; partition: number; offset: bigint }>();
  /** Partitions not read to their end yet, and that end. */
  readonly #unread = new Map<string, bigint>();
  /** Lanes of other keys; records that come there later are passed over. */
  readonly #skipped = new Set<string>();
  readonly #settle: { resolve: () => void; reject: (error: Error) => void };
  #stopped = false;
  /** What the reader ended with, if that is an error. */
  #failure: Error | null = null;
  #isPaused = false;
  /** What is under way. */
  #work: KeyedWork | null = null;
  #heartbeats: Heartbeats | null = null;
  #closing: Promise<void> | null = null;

  constructor(kafka: Kafka, options: TopicReaderOptions, bounds: readonly Bounds[]) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS_DEFAULT;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.ended = promise;
    // Callers that ignore `ended` must not be ended by it.
    this.ended.catch(() => undefined);
    this.#settle = { resolve: () => resolve(undefined), reject };
    for (const { topic, partition, low, high } of bounds) {
      const lanes = bounds.filter((bound) => bound.topic === topic).length;
      const skipped = options.laneOfKey !== undefined && laneOf(options.laneOfKey, lanes) !== partition;
      if (skipped) this.#skipped.add(placeName({ topic, partition }));
      const first = skipped ? low : firstOf({ low, high }, options.newest);
      if (first > low) options.onLeftOut?.(topic, partition, first - low);
      const offset = ['now', 'ends'].includes(options.start.from) || skipped ? high : first;
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
    if (untilEnd && this.#unread.size === 0) {
      void this.close();
      return;
    }
    const consumer = this.#consumer;
    const grouped = this.#isGrouped;
    // A consumer that was made anew after a failure knows of no pause.
    consumer.on(consumer.events.GROUP_JOIN, () => {
      if (this.#isPaused) this.pause();
    });
    if (!grouped) consumer.on(consumer.events.GROUP_JOIN, () => this.#seekAll());
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      // Batches of control or aborted records alone never reach the handler.
      if (payload.batchSize === 0) this.#passed(payload.topic, payload.partition, BigInt(payload.lastOffset) + 1n);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      // A refusal is tried again where a process is to go on with it; here somebody waits to be told.
      if (!payload.restart || kafkaRefusal(payload.error) !== null) this.#fail(payload.error);
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
    this.#consumer.pause(this.#options.topics.map((topic) => ({ topic })));
  }

  resume(): void {
    this.#isPaused = false;
    this.#consumer.resume(this.#options.topics.map((topic) => ({ topic })));
  }

  async #disconnect(): Promise<void> {
    if (this.#work !== null) await settledWithin(this.#work.settled(), this.#limits.closeTimeoutMs);
    // A handler that is still not done gets no more heartbeats: its record comes again, to the next member.
    this.#heartbeats?.stop();
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
    // A topic that was deleted and made again: of what it holds nothing was read.
    if (position !== undefined && BigInt(batch.highWatermark) < position.offset) position.offset = 0n;
    const work = new KeyedWork(this.#options.concurrency ?? 1);
    this.#work = work;
    this.#heartbeats = startHeartbeats(() => payload.heartbeat(), this.#heartbeatIntervalMs);
    try {
      for (const message of batch.messages) {
        await work.place();
        if (this.#stopped || this.#isPaused || !payload.isRunning() || payload.isStale()) return;
        // What one fetch brought is handed over before kafkajs joins again, however long that takes; so it is asked here, and
        // throws in a rebalance. kafkajs then commits what was handled, which the coordinator still takes, and joins.
        await payload.heartbeat();
        const offset = BigInt(message.offset);
        // A seek that took effect late delivers what was read already.
        const isNew = this.#isGrouped || position === undefined || offset >= position.offset;
        const isHandled = isNew && !this.#skipped.has(placeName(batch));
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
      // What is under way in a rebalance is handled, and committed, before the member joins again.
      await work.settled();
      this.#heartbeats.stop();
      this.#work = null;
    }
    await work.finish();
    if (this.#stopped) return;
    // The control record that ends a transaction counts as read with the last record before it.
    payload.resolveOffset(batch.lastOffset());
    this.#passed(batch.topic, batch.partition, BigInt(batch.lastOffset()) + 1n);
  }

  async #commit(payload: EachBatchPayload): Promise<void> {
    if (!this.#isGrouped) return;
    if (this.#options.commit === 'each') await payload.commitOffsetsIfNecessary(payload.uncommittedOffsets());
    else await payload.commitOffsetsIfNecessary();
  }

  /** False: the handler failed, and the reader ends. Its exception must not reach kafkajs, which would try again. */
  async #handle({ batch: { partition, topic } }: EachBatchPayload, message: KafkaMessage): Promise<boolean> {
    // What waited for its key behind the one that failed; what waits when the reader closes is still handled.
    if (this.#failure !== null) return false;
    try {
      await this.#options.onRecord(recordOf(topic, partition, message), () => rawRecordOf(topic, partition, message));
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** The consumer has passed everything below the offset, control records and aborted ones included. */
  #passed(topic: string, partition: number, offset: bigint): void {
    if (this.#stopped) return;
    const name = placeName({ topic, partition });
    const position = this.#positions.get(name);
    if (position !== undefined && offset > position.offset) position.offset = offset;
    const end = this.#unread.get(name);
    if (end === undefined || offset < end) return;
    this.#unread.delete(name);
    if (this.#options.untilEnd && this.#unread.size === 0) void this.close();
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
    // Null, too: kafkajs' types do not know.
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
