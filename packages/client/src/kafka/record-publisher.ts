/**
 * Publishes records one partition at a time, in the order in which they were given.
 *
 * Stages: records wait in a queue -> those at its head for the same partition are taken together -> one send, tried a
 * limited number of times -> each caller learns the offset. One send is under way at a time: an idempotent kafkajs producer
 * loses and duplicates when sends overlap, and a send to several partitions can succeed though one of them was never written.
 *
 * The retries are ours: kafkajs shows the last error of its own alone, and a refusal says nothing of the tries before it.
 *
 * The producer belongs to this object. Once a send has failed it is thrown away, because its sequence numbers no longer
 * tell what the broker holds; the next send makes another. A failed record may or may not have been written.
 */
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Kafka, type Producer } from 'kafkajs';
import { laneOf } from 'payment-processor-contract/keys';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import type { LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { makingOf } from 'payment-processor-contract/topics';

const { KafkaJSNumberOfRetriesExceeded } = kafkajs;

export interface KeyedRecord {
  topic: string;
  /** Decides the partition: murmur2, as Java publishers do by default. Null: the partition is given. */
  key: Buffer | null;
  /** In place of the key's. */
  partition?: number;
  value: Buffer | null;
  headers: Record<string, string | Buffer[]>;
}

export interface PublishedAt {
  partition: number;
  offset: bigint;
}

export type PublishProblem =
  | 'CLOSED'
  /** The queue is full. */
  | 'TOO_MANY'
  | 'TOPIC_MISSING'
  /** The brokers refused it. */
  | 'NOT_WRITTEN'
  /** One of the publication's tries may have written it. */
  | 'NOT_CONFIRMED';

/** The record cannot be published as things are; the message says what to do. */
export class PublishError extends Error {
  readonly reason: PublishProblem;
  constructor(reason: PublishProblem, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PublishError';
    this.reason = reason;
  }

  get mayBeWritten(): boolean {
    return this.reason === 'NOT_CONFIRMED';
  }
}

interface Waiting {
  record: KeyedRecord;
  partition: number;
  resolve: (at: PublishedAt) => void;
  reject: (error: Error) => void;
}

/** Records that may wait; a publisher that is faster than its cluster must be told, not filled. */
const QUEUE_RECORDS_MAX = 10_000;
/** One send stays well below the 1 MiB that a command topic takes as one batch. */
const SEND_BYTES_MAX = 512 * 1024;
const SEND_RECORDS_MAX = 500;
/** kafkajs refuses 0 for an idempotent producer, and no count of retries is below this: each send is one try. */
const ONE_TRY = Number.NaN;
/** Longest wait for a producer to disconnect; after that its sockets are left to their own timeouts. */
const DISCONNECT_TIMEOUT_MS = 5_000;

export class RecordPublisher {
  readonly #kafka: Kafka;
  readonly #retry: typeof LANE_RETRY;
  readonly #partitionCounts: ReadonlyMap<string, number>;
  readonly #queue: Waiting[] = [];
  #producer: Producer | null = null;
  #sending: Promise<void> | null = null;
  #closed = false;

  private constructor(kafka: Kafka, retry: typeof LANE_RETRY, partitionCounts: ReadonlyMap<string, number>) {
    this.#kafka = kafka;
    this.#retry = retry;
    this.#partitionCounts = partitionCounts;
  }

  /**
   * Learns the partitions of the topics that will be written; topics that do not exist are refused at publishing.
   * @throws the client's error when no broker answers
   */
  static async connect(kafka: Kafka, topics: readonly string[], retry: typeof LANE_RETRY): Promise<RecordPublisher> {
    const counts = await withAdmin(kafka, async (admin) => {
      const listed = new Set(await admin.listTopics());
      const existing = topics.filter((topic) => listed.has(topic));
      const metadata = existing.length === 0 ? { topics: [] } : await admin.fetchTopicMetadata({ topics: existing });
      return metadata.topics.map((topic): [string, number] => [topic.name, topic.partitions.length]);
    });
    return new RecordPublisher(kafka, retry, new Map(counts));
  }

  /**
   * @returns where the record was written, once every in-sync replica has it
   * @throws PublishError
   */
  async publish(record: KeyedRecord): Promise<PublishedAt> {
    if (this.#closed) throw new PublishError('CLOSED', 'the publisher is closed');
    if (this.#queue.length >= QUEUE_RECORDS_MAX) {
      throw new PublishError('TOO_MANY', `${QUEUE_RECORDS_MAX} records are waiting already: await some of them first`);
    }
    const partition = this.#partitionOf(record);
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, partition, resolve, reject });
      this.#sending ??= this.#sendAll();
    });
  }

  /** Takes no more records, sends those that wait, and disconnects. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
    await this.#dropProducer();
  }

  #partitionOf({ key, partition, topic }: KeyedRecord): number {
    return partition ?? laneOf(key ?? '', this.partitionCount(topic));
  }

  /** @throws PublishError where the topic does not exist */
  partitionCount(topic: string): number {
    const count = this.#partitionCounts.get(topic);
    if (count === undefined) {
      throw new PublishError(
        'TOPIC_MISSING',
        `topic ${topic} does not exist: run \`${makingOf([topic])}\`, or see TOPIC_PREFIX (Kafka hides topics from users without rights on them: \`doctor --rights\` tells)`,
      );
    }
    return count;
  }

  async #sendAll(): Promise<void> {
    // A turn later, so that records published in one go are sent in one go.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#send(this.#takeBatch());
    this.#sending = null;
  }

  /** Takes the record at the head and those after it that go to the same partition, as many as one send may hold. */
  #takeBatch(): Waiting[] {
    const [first] = this.#queue;
    if (first === undefined) return [];
    const batch: Waiting[] = [];
    const rest: Waiting[] = [];
    let bytes = 0;
    for (const waiting of this.#queue) {
      const fits = batch.length === 0 || bytes + bytesOf(waiting.record) <= SEND_BYTES_MAX;
      const together = waiting.record.topic === first.record.topic && waiting.partition === first.partition;
      if (together && fits && batch.length < SEND_RECORDS_MAX) {
        batch.push(waiting);
        bytes += bytesOf(waiting.record);
      } else {
        rest.push(waiting);
      }
    }
    this.#queue.splice(0, this.#queue.length, ...rest);
    return batch;
  }

  async #send(batch: Waiting[]): Promise<void> {
    let mayBeWritten = false;
    for (let retries = 0; ; retries += 1) {
      try {
        const { partition, offset } = await this.#write(batch);
        batch.forEach((waiting, index) => waiting.resolve({ partition, offset: offset + BigInt(index) }));
        return;
      } catch (error) {
        mayBeWritten ||= !isRefusal(error);
        if (retries < this.#retry.retries && isWorthRetrying(error)) {
          await delay(pauseMs(retries, this.#retry));
          continue;
        }
        await this.#dropProducer();
        for (const waiting of batch) waiting.reject(publishError(error, waiting.record.topic, mayBeWritten));
        return;
      }
    }
  }

  /** One try. @returns where the first record lies */
  async #write(batch: readonly Waiting[]): Promise<PublishedAt> {
    const [first] = batch;
    if (first === undefined) throw new Error('a batch has no records');
    const { partition } = first;
    const { topic } = first.record;
    const producer = await this.#openProducer();
    const written = await producer.send({
      topic,
      acks: -1,
      messages: batch.map(({ record: { key, value, headers } }) => ({ key, value, headers, partition })),
    });
    const base = written.find((entry) => entry.partition === partition)?.baseOffset;
    if (base === undefined) throw new Error(`the brokers did not confirm partition ${partition} of ${topic}`);
    return { partition, offset: BigInt(base) };
  }

  async #openProducer(): Promise<Producer> {
    if (this.#producer !== null) return this.#producer;
    const producer = this.#kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      retry: { ...this.#retry, retries: ONE_TRY },
    });
    this.#producer = producer;
    await producer.connect();
    return producer;
  }

  async #dropProducer(): Promise<void> {
    const producer = this.#producer;
    this.#producer = null;
    // A producer that is thrown away has nothing left to lose: how its disconnecting ends does not matter.
    if (producer !== null) await disconnectWithin(producer, DISCONNECT_TIMEOUT_MS);
  }
}

function bytesOf({ headers, key, value }: KeyedRecord): number {
  const ofHeaders = Object.entries(headers).flatMap(([name, given]) => [name, given].flat());
  return [key ?? '', value ?? '', ...ofHeaders].reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

/** Errors by which a broker tells that it did not take the records. */
const REFUSED_TYPES: ReadonlySet<unknown> = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'INVALID_RECORD',
]);

/**
 * The try wrote nothing. kafkajs throws such an error as it is where the request, or what comes before it, was refused; what
 * fails after the request is wrapped in an error without a type.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'type' in error && REFUSED_TYPES.has(error.type);
}

/** kafkajs would have tried again. Where its own retries of a connection are used up, the count is not 0. */
function isWorthRetrying(error: unknown): boolean {
  return error instanceof KafkaJSNumberOfRetriesExceeded && error.retryCount === 0;
}

function pauseMs(retries: number, { initialRetryTime, maxRetryTime, multiplier }: typeof LANE_RETRY): number {
  return Math.min(initialRetryTime * multiplier ** retries, maxRetryTime);
}

function publishError(error: unknown, topic: string, mayBeWritten: boolean): PublishError {
  const message = error instanceof Error ? error.message : String(error);
  return new PublishError(
    mayBeWritten ? 'NOT_CONFIRMED' : 'NOT_WRITTEN',
    mayBeWritten
      ? `it is not known whether the record for ${topic} was written (${message}): publish it again with the same key, which is safe`
      : `the brokers refused the record for ${topic}: ${message}`,
    error,
  );
}
