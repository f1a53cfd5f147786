/**
 * Reads topics for tools and subscribers, read_committed: from the beginning, from now on, or where a group left off.
 *
 * Stages: end offsets are asked for -> the consumer joins a group and each partition is sought to its start -> records
 * are handed over one at a time -> ended (all that was there was read, or the handler failed), or closed by the owner.
 *
 * The consumer belongs to this object. Without a group id it uses a group of its own that commits nothing; since every
 * rejoin rewinds to committed offsets, the positions are kept here and sought again. With a group id, an offset is
 * committed after its record was handled: a record may come twice, and none is left out.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, IHeaders, Kafka } from 'kafkajs';
import { withAdmin } from '../../producers/admin-session.ts';
import { disconnectWithin } from '../../producers/disconnecting.ts';
import { laneOf } from '../../records/keys.ts';
import { registerCompressionCodecs } from '../compression-codecs.ts';
import { partitionOffsets, type PartitionOffsets } from '../partition-offsets.ts';
import { rawRecordOf, type RawRecord } from './record-at.ts';

export interface TopicRecord {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  /** Of a repeated header the first. */
  headers: Record<string, string>;
}

export type ReaderStart =
  | { from: 'beginning' }
  /** Records written after the reader was opened. */
  | { from: 'now' }
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
   * Awaited before the next record; what it throws ends the reader.
   * @param raw the same as its bytes are, each header with all of its values
   */
  onRecord: (record: TopicRecord, raw: () => RawRecord) => Promise<void> | void;
}

export interface TopicReader {
  /** Settles when there is no more to come: rejects if the handler or the consumer failed for good. */
  readonly ended: Promise<void>;
  /** Leaves the group and disconnects; within CLOSE_TIMEOUT_MS. Not to be awaited inside the handler. */
  close(): Promise<void>;
}

/** How long a broker may hold a fetch; also the delay of a rebalance. */
const FETCH_WAIT_MS = 250;
const SESSION_TIMEOUT_MS = 10_000;
const HEARTBEAT_INTERVAL_MS = 2_000;
const BYTES_PER_PARTITION_MAX = 1024 * 1024;
const CLOSE_TIMEOUT_MS = 5_000;

/**
 * @throws the client's error when no broker answers; an Error naming the topics that do not exist
 */
export async function openTopicReader(kafka: Kafka, options: TopicReaderOptions): Promise<TopicReader> {
  registerCompressionCodecs();
  const bounds = await readBounds(kafka, options.topics);
  const reader = new RunningReader(kafka, options, bounds);
  await reader.open();
  return reader;
}

interface Bounds extends PartitionOffsets {
  readonly topic: string;
  readonly partition: number;
}

async function readBounds(kafka: Kafka, topics: readonly string[]): Promise<Bounds[]> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !listed.has(topic));
    if (missing.length > 0) {
      throw new Error(
        `${missing.length === 1 ? 'topic' : 'topics'} ${missing.join(', ')} missing: run \`npm run cli -- topics create\`, or see TOPIC_PREFIX`,
      );
    }
    const bounds: Bounds[] = [];
    for (const topic of topics) {
      for (const [partition, offsets] of await partitionOffsets(admin, topic)) {
        bounds.push({ topic, partition, ...offsets });
      }
    }
    return bounds;
  });
}

class RunningReader implements TopicReader {
  readonly ended: Promise<void>;
  readonly #options: TopicReaderOptions;
  readonly #consumer: Consumer;
  /** Next offset of each partition; not used with a group, whose offsets the brokers keep. */
  readonly #positions = new Map<string, { topic: string; partition: number; offset: bigint }>();
  /** Partitions not read to their end yet, and that end. */
  readonly #unread = new Map<string, bigint>();
  /** Lanes of other keys; records that come there later are passed over. */
  readonly #skipped = new Set<string>();
  readonly #settle: { resolve: () => void; reject: (error: Error) => void };
  #stopped = false;
  #closing: Promise<void> | null = null;

  constructor(kafka: Kafka, options: TopicReaderOptions, bounds: readonly Bounds[]) {
    this.#options = options;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.ended = promise;
    // Callers that ignore `ended` must not be ended by it.
    this.ended.catch(() => undefined);
    this.#settle = { resolve: () => resolve(undefined), reject };
    for (const { topic, partition, low, high } of bounds) {
      const lanes = bounds.filter((bound) => bound.topic === topic).length;
      const skipped = options.laneOfKey !== undefined && laneOf(options.laneOfKey, lanes) !== partition;
      if (skipped) this.#skipped.add(nameOf(topic, partition));
      const first = skipped ? low : firstOf({ low, high }, options.newest);
      if (first > low) options.onLeftOut?.(topic, partition, first - low);
      const offset = options.start.from === 'now' || skipped ? high : first;
      this.#positions.set(nameOf(topic, partition), { topic, partition, offset });
      if (offset < high) this.#unread.set(nameOf(topic, partition), high);
    }
    this.#consumer = kafka.consumer({
      groupId: options.start.from === 'group' ? options.start.groupId : `${options.groupPrefix}-${randomUUID()}`,
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_INTERVAL_MS,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      maxBytesPerPartition: BYTES_PER_PARTITION_MAX,
      readUncommitted: false,
      allowAutoTopicCreation: false,
    });
  }

  async open(): Promise<void> {
    const { start, topics, untilEnd } = this.#options;
    if (untilEnd && this.#unread.size === 0) {
      this.#stop();
      return;
    }
    const consumer = this.#consumer;
    const grouped = start.from === 'group';
    if (!grouped) consumer.on(consumer.events.GROUP_JOIN, () => this.#seekAll());
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      // Batches of control or aborted records alone never reach the handler.
      if (payload.batchSize === 0) this.#passed(payload.topic, payload.partition, BigInt(payload.lastOffset) + 1n);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) this.#fail(payload.error);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...topics], fromBeginning: true });
      await consumer.run({
        autoCommit: grouped,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#readBatch(payload),
      });
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#disconnect();
    return this.#closing;
  }

  async #disconnect(): Promise<void> {
    this.#stop();
    await disconnectWithin(this.#consumer, CLOSE_TIMEOUT_MS);
  }

  #seekAll(): void {
    for (const { topic, partition, offset } of this.#positions.values()) {
      this.#consumer.seek({ topic, partition, offset: offset.toString() });
    }
  }

  async #readBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const position = this.#positions.get(nameOf(batch.topic, batch.partition));
    const ownPosition = this.#options.start.from !== 'group' && position !== undefined;
    for (const message of batch.messages) {
      if (this.#stopped || !payload.isRunning() || payload.isStale()) return;
      const offset = BigInt(message.offset);
      // A seek that took effect late delivers what was read already.
      if (!ownPosition || offset >= position.offset) {
        try {
          if (!this.#skipped.has(nameOf(batch.topic, batch.partition)))
            await this.#options.onRecord(recordOf(batch.topic, batch.partition, message), () =>
              rawRecordOf(batch.topic, batch.partition, message),
            );
        } catch (error) {
          // An exception must not reach kafkajs: it would try again, or stop for good, by the kind of the exception.
          this.#fail(error);
          return;
        }
        if (ownPosition) position.offset = offset + 1n;
      }
      payload.resolveOffset(message.offset);
      await payload.heartbeat();
    }
    // The control record that ends a transaction counts as read with the last record before it.
    payload.resolveOffset(batch.lastOffset());
    this.#passed(batch.topic, batch.partition, BigInt(batch.lastOffset()) + 1n);
  }

  /** The consumer has passed everything below the offset, control records and aborted ones included. */
  #passed(topic: string, partition: number, offset: bigint): void {
    if (this.#stopped) return;
    const name = nameOf(topic, partition);
    const position = this.#positions.get(name);
    if (position !== undefined && offset > position.offset) position.offset = offset;
    const end = this.#unread.get(name);
    if (end === undefined || offset < end) return;
    this.#unread.delete(name);
    if (this.#options.untilEnd && this.#unread.size === 0) this.#stop();
  }

  #stop(): void {
    this.#stopped = true;
    this.#settle.resolve();
  }

  #fail(error: unknown): void {
    this.#stopped = true;
    this.#settle.reject(error instanceof Error ? error : new Error(String(error)));
  }
}

function firstOf({ high, low }: PartitionOffsets, newest: number | undefined): bigint {
  if (newest === undefined) return low;
  const first = high - BigInt(newest);
  return first > low ? first : low;
}

function nameOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
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
