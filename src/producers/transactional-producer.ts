/**
 * A transactional producer.
 *
 *   open    connects
 *   commit  one transaction, all or nothing; one at a time. The first initialises the transactional id
 *   fence   instead of both: initialises a transactional id of another producer, and nothing else
 *   drop    for good
 *
 * Any error leaves the outcome of the transaction open, so the producer is never used again after one: lanes read back what
 * was committed.
 */
import kafkajs, { type IHeaders, type Message, type Producer } from 'kafkajs';
import { createKafka, LANE_RETRY, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import type { KafkaLog } from 'payment-processor-contract/kafka/kafka-log';

type HeaderValue = string | Buffer | null;
/** By name; several of one name in their order. */
export type MessageHeaders = Readonly<Record<string, HeaderValue | readonly HeaderValue[]>>;

export interface OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | Buffer | null;
  readonly value: Buffer | null;
  readonly headers: MessageHeaders;
}

/** Where the first record of a transaction lies in one partition; the others follow it, and a control record follows them. */
export interface WrittenAt {
  readonly firstOffset: bigint;
  /** By the broker's clock, milliseconds since 1970; 0: the topic is under clients' clocks. */
  readonly timestampMs: number;
}
/** By `topic/partition`; a partition whose broker does not say so is left out. */
export type Written = ReadonlyMap<string, WrittenAt>;

/** The lane cannot go on with this producer: fenced, or its last transaction's outcome is open. */
export class TransactionFailedError extends Error {}

/** The broker ends a transaction of a dead lane after this; results behind it wait as long. */
export const TRANSACTION_TIMEOUT_MS = 15_000;
/** Longest commit; well below the transaction time-out, so that a slow one is given up before the broker does. */
export const COMMIT_DEADLINE_MS = 10_000;
/** Longest connect and initialisation. */
const OPEN_DEADLINE_MS = 15_000;

/** Of a topic's batches on average; smaller ones hardly shrink, and each costs a turn in the thread pool. */
const COMPRESSED_FROM_BYTES = 4 * 1024;
/** Where the broker does not say where it wrote. */
const NOWHERE = -1;

interface TransactionalProducerOptions {
  readonly transactionalId: string;
  readonly clientId: string;
  /** Topics of our own, whose readers know zstd; what others read is written as it is. */
  readonly compressedTopics: ReadonlySet<string>;
  readonly log: KafkaLog;
}

interface TopicMessages {
  readonly topic: string;
  readonly messages: Message[];
  /** Of this topic; a mend of the client. */
  readonly compression?: number;
}

export class TransactionalProducer {
  readonly #producer: Producer;
  readonly #compressedTopics: ReadonlySet<string>;
  #broken = false;

  constructor(settings: KafkaSettings, options: TransactionalProducerOptions) {
    this.#compressedTopics = options.compressedTopics;
    this.#producer = createKafka(settings, options.clientId, { retry: LANE_RETRY, log: options.log }).producer({
      transactionalId: options.transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      retry: LANE_RETRY,
    });
  }

  /** @throws TransactionFailedError when Kafka cannot be reached in time */
  async open(): Promise<void> {
    await this.#guarded('open', OPEN_DEADLINE_MS, () => this.#producer.connect());
  }

  /**
   * Commits records in one transaction. The first commit also initialises the transactional id.
   * @param known records as far as they are known
   * @param wanted asked for what is to be written, once the coordinator has ended the transaction before: that takes as long
   *   as the rest of a transaction, and what happens meanwhile can go along. Nothing: nothing is written
   * @throws TransactionFailedError whenever it is not certain that all was committed
   */
  async commit(
    known: readonly OutgoingRecord[],
    wanted: () => Promise<readonly OutgoingRecord[]> = async () => known,
  ): Promise<Written> {
    return this.#guarded('commit', COMMIT_DEADLINE_MS, async () => {
      const transaction = await this.#producer.transaction();
      await transaction.ready(partitionsOf(known));
      const records = await wanted();
      if (records.length === 0) {
        await transaction.abort();
        return new Map();
      }
      const topicMessages = byTopic(records, this.#compressedTopics);
      const acknowledged = await transaction.sendBatch({ topicMessages });
      const missing = new Set(records.map(({ partition, topic }) => batchName(topic, partition)));
      const written = new Map<string, WrittenAt>();
      for (const { topicName, partition, errorCode, baseOffset, logAppendTime } of acknowledged) {
        if (errorCode !== 0) continue;
        const name = batchName(topicName, partition);
        missing.delete(name);
        const firstOffset = BigInt(baseOffset ?? NOWHERE);
        // Under clients' clocks the broker says -1.
        const timestampMs = Math.max(0, Number(logAppendTime ?? 0));
        if (firstOffset >= 0n) written.set(name, { firstOffset, timestampMs });
      }
      if (missing.size > 0) throw new Error(`not acknowledged: ${[...missing].join(', ')}`);
      await transaction.commit();
      return written;
    });
  }

  /**
   * Ends every producer of the transactional id: an open transaction is aborted, what is sent later is refused. For good
   * for this producer, too.
   * @throws TransactionFailedError when that is not certain
   */
  async fence(): Promise<void> {
    try {
      await this.open();
      await this.#guarded('fence', OPEN_DEADLINE_MS, async () => {
        const transaction = await this.#producer.transaction();
        await transaction.abort();
      });
    } finally {
      this.drop();
    }
  }

  /** Lets go of the connections. A transaction that is open is ended by the next owner or by the broker's time-out. */
  drop(): void {
    this.#broken = true;
    this.#producer.disconnect().catch(() => undefined);
  }

  /** Like drop, but waits for the connections to be closed. */
  async close(): Promise<void> {
    this.#broken = true;
    await this.#producer.disconnect().catch(() => undefined);
  }

  async #guarded<Value>(what: string, deadlineMs: number, work: () => Promise<Value>): Promise<Value> {
    if (this.#broken) throw new TransactionFailedError(`${what}: the producer was dropped`);
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${deadlineMs} ms`)), deadlineMs);
    });
    try {
      return await Promise.race([work(), deadline]);
    } catch (error) {
      this.#broken = true;
      throw new TransactionFailedError(`${what} failed: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Of a partition, as the maps by partition have it. */
export function batchName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

function partitionsOf(records: readonly OutgoingRecord[]): { topic: string; partitions: { partition: number }[] }[] {
  return [...Map.groupBy(records, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
    topic,
    partitions: [...new Set(ofTopic.map(({ partition }) => partition))].map((partition) => ({ partition })),
  }));
}

function byTopic(records: readonly OutgoingRecord[], compressedTopics: ReadonlySet<string>): TopicMessages[] {
  return [...Map.groupBy(records, (record) => record.topic)].map(([topic, ofTopic]) => ({
    topic,
    // kafkajs writes null headers; its types do not know.
    messages: ofTopic.map(({ partition, key, value, headers }) => ({
      partition,
      key,
      value,
      headers: headers as IHeaders,
    })),
    ...(compressedTopics.has(topic) && isWorthCompressing(ofTopic)
      ? { compression: kafkajs.CompressionTypes.ZSTD }
      : {}),
  }));
}

function isWorthCompressing(records: readonly OutgoingRecord[]): boolean {
  const bytes = records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
  return bytes >= COMPRESSED_FROM_BYTES * new Set(records.map(({ partition }) => partition)).size;
}
