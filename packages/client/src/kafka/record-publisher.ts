/**
 * Publishes records one partition at a time, in their given order.
 *
 * Stages: records wait in a queue -> those at its head for the same partition form a batch -> one send, retried a limited
 * number of times -> each caller gets the offset. One send runs at a time: an idempotent kafkajs producer loses and
 * duplicates records when sends overlap, and a send to several partitions can succeed although one was never written. While a
 * batch waits for its next try, those of other partitions are sent: a partition without a leader holds up its own records only.
 *
 * We retry ourselves: kafkajs shows only the last error of its own retries, and a refusal does not show whether an earlier
 * try wrote.
 *
 * The producer belongs to this object. After the last try of a batch failed it is discarded, because its sequence numbers may no
 * longer match the broker's; the next send creates another. A failed record may or may not have been written. A batch that is
 * retried by the new producer may be written twice.
 */
import kafkajs, { type Kafka, type Producer } from 'kafkajs';
import { laneOf } from 'payment-processor-contract/keys';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import type { LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { messageOf } from 'payment-processor-contract/registry-http';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { missingTopicsRemedy } from 'payment-processor-contract/topics';

const { KafkaJSNumberOfRetriesExceeded } = kafkajs;

export interface KeyedRecord {
  topic: string;
  /** Decides the partition by murmur2, as Java publishers do by default. Null: the partition is given. */
  key: Buffer | null;
  /** Overrides the key's partition. */
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
  /** The brokers refused the record. */
  | 'NOT_WRITTEN'
  /** One of the tries may have written it. */
  | 'NOT_CONFIRMED';

/** The record cannot be published at present; the message names the remedy. */
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

/** Records of one partition that are sent together. */
interface Batch {
  readonly waiting: readonly Waiting[];
  tries: number;
  /** Of the monotonic clock. */
  notBeforeMs: number;
  mayBeWritten: boolean;
}

/** Queue limit: a publisher that is faster than its cluster must get an error, not fill its memory. */
const QUEUE_RECORDS_MAX = 10_000;
/** Keeps one send well below a command topic's batch limit of 1 MiB. */
const SEND_BYTES_MAX = 512 * 1024;
const SEND_RECORDS_MAX = 500;
/** kafkajs refuses 0 retries for an idempotent producer, and no retry count is below this value: each send is one try. */
const ONE_TRY = Number.NaN;
/** Longest wait for a producer to disconnect; after that its sockets time out by themselves. */
const DISCONNECT_TIMEOUT_MS = 5_000;

export class RecordPublisher {
  readonly #kafka: Kafka;
  readonly #retry: typeof LANE_RETRY;
  readonly #partitionCounts: ReadonlyMap<string, number>;
  readonly #queue: Waiting[] = [];
  /** Batches that wait for their next try, by topic and partition. Other records of these partitions wait. */
  readonly #retried = new Map<string, Batch>();
  /** The last send was a retry. */
  #isRetry = false;
  /** Resolves when a record comes. */
  #news = Promise.withResolvers<undefined>();
  #producer: Producer | null = null;
  #sending: Promise<void> | null = null;
  #closed = false;

  private constructor(kafka: Kafka, retry: typeof LANE_RETRY, partitionCounts: ReadonlyMap<string, number>) {
    this.#kafka = kafka;
    this.#retry = retry;
    this.#partitionCounts = partitionCounts;
  }

  /**
   * Fetches the partitions of the topics to write; publishing to a missing topic is refused.
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
      this.#news.resolve(undefined);
      this.#sending ??= this.#sendAll();
    });
  }

  /** Accepts no more records, sends the waiting ones, and disconnects. */
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
      throw new PublishError('TOPIC_MISSING', `topic ${topic} does not exist: ${missingTopicsRemedy([topic])}`);
    }
    return count;
  }

  async #sendAll(): Promise<void> {
    // One turn later, so that records published together are sent together.
    await Promise.resolve();
    while (this.#queue.length > 0 || this.#retried.size > 0) {
      const batch = this.#nextBatch(performance.now());
      if (batch === null) await this.#awaitNext();
      else await this.#send(batch);
    }
    this.#sending = null;
  }

  /** Null: everything waits for a later try. */
  #nextBatch(nowMs: number): Batch | null {
    const due = [...this.#retried.values()].find(({ notBeforeMs }) => notBeforeMs <= nowMs);
    const first = this.#queue.find((waiting) => !this.#retried.has(placeOf(waiting)));
    // Retries and new batches alternate: one try may take as long as a request's timeout.
    if (due !== undefined && (first === undefined || !this.#isRetry)) {
      this.#isRetry = true;
      return due;
    }
    this.#isRetry = false;
    return first === undefined ? null : this.#takeBatch(placeOf(first));
  }

  async #awaitNext(): Promise<void> {
    const dueMs = Math.min(...[...this.#retried.values()].map(({ notBeforeMs }) => notBeforeMs));
    this.#news = Promise.withResolvers();
    await settledWithin(this.#news.promise, Math.max(0, dueMs - performance.now()));
  }

  /** Takes the records for the partition, up to the limit of one send. */
  #takeBatch(place: string): Batch {
    const batch: Waiting[] = [];
    const rest: Waiting[] = [];
    let bytes = 0;
    for (const waiting of this.#queue) {
      const fits = batch.length === 0 || bytes + bytesOf(waiting.record) <= SEND_BYTES_MAX;
      if (placeOf(waiting) === place && fits && batch.length < SEND_RECORDS_MAX) {
        batch.push(waiting);
        bytes += bytesOf(waiting.record);
      } else {
        rest.push(waiting);
      }
    }
    this.#queue.splice(0, this.#queue.length, ...rest);
    return { waiting: batch, tries: 0, notBeforeMs: 0, mayBeWritten: false };
  }

  async #send(batch: Batch): Promise<void> {
    const [first] = batch.waiting;
    if (first === undefined) throw new Error('a batch has no records');
    const place = placeOf(first);
    try {
      const { partition, offset } = await this.#write(batch.waiting, first);
      this.#retried.delete(place);
      batch.waiting.forEach((waiting, index) => waiting.resolve({ partition, offset: offset + BigInt(index) }));
    } catch (error) {
      batch.mayBeWritten ||= !isRefusal(error);
      if (batch.tries < this.#retry.retries && isWorthRetrying(error)) {
        batch.notBeforeMs = performance.now() + pauseMs(batch.tries, this.#retry);
        batch.tries += 1;
        this.#retried.set(place, batch);
        return;
      }
      this.#retried.delete(place);
      await this.#dropProducer();
      const { topic } = first.record;
      for (const waiting of batch.waiting) waiting.reject(publishError(error, topic, batch.mayBeWritten));
    }
  }

  /** One try. @returns the first record's offset */
  async #write(batch: readonly Waiting[], { partition, record: { topic } }: Waiting): Promise<PublishedAt> {
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
    if (producer !== null) await disconnectWithin(producer, DISCONNECT_TIMEOUT_MS);
  }
}

function placeOf({ partition, record }: Waiting): string {
  return `${record.topic}/${partition}`;
}

function bytesOf({ headers, key, value }: KeyedRecord): number {
  const headerParts = Object.entries(headers).flatMap(([name, given]) => [name, given].flat());
  return [key ?? '', value ?? '', ...headerParts].reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

/** Broker errors that mean the records were not written. */
const REFUSED_TYPES: ReadonlySet<unknown> = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'INVALID_RECORD',
]);

/**
 * The try wrote nothing. kafkajs throws such an error unchanged if the request, or an earlier step, was refused. It wraps a
 * failure after the request in an error without a type.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'type' in error && REFUSED_TYPES.has(error.type);
}

/** kafkajs would have retried. The count is not 0 after kafkajs has used up its own retries of a connection. */
function isWorthRetrying(error: unknown): boolean {
  return error instanceof KafkaJSNumberOfRetriesExceeded && error.retryCount === 0;
}

function pauseMs(retries: number, { initialRetryTime, maxRetryTime, multiplier }: typeof LANE_RETRY): number {
  return Math.min(initialRetryTime * multiplier ** retries, maxRetryTime);
}

function publishError(error: unknown, topic: string, mayBeWritten: boolean): PublishError {
  const message = messageOf(error);
  return new PublishError(
    mayBeWritten ? 'NOT_CONFIRMED' : 'NOT_WRITTEN',
    mayBeWritten
      ? `it is not known whether the record for ${topic} was written (${message}). Publish it again with the same key: that is safe`
      : `the brokers refused the record for ${topic}: ${message}`,
    error,
  );
}
