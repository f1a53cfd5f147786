/**
 * The transactional producer of one lane.
 *
 *   open    connects, initialises the transactional id (which fences every earlier producer of the lane)
 *   commit  one transaction: records and group offsets, all or nothing; one at a time
 *   fence   instead of both: initialises the transactional id, and nothing else
 *   drop    for good; a new one is made for the next acquisition
 *
 * Ownership of a lane is this producer's epoch (invariant I2). Any error leaves the outcome of the transaction open, so
 * the producer is never used again after one: the lane reads back what was committed.
 */
import type { IHeaders, Message, Producer } from 'kafkajs';
import { createKafka, LANE_RETRY, type KafkaSettings } from './kafka-client.ts';
import type { KafkaLog } from './kafka-log.ts';

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

export interface GroupOffsets {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** The lane cannot go on with this producer: fenced, or its last transaction's outcome is open. */
export class LaneProducerError extends Error {}

/** The broker ends a transaction of a dead lane after this; results behind it wait as long. */
export const TRANSACTION_TIMEOUT_MS = 15_000;
/** Longest commit; well below the transaction time-out, so that a slow one is given up before the broker does. */
const COMMIT_DEADLINE_MS = 10_000;
/** Longest connect and initialisation. */
const OPEN_DEADLINE_MS = 15_000;

export class LaneProducer {
  readonly #producer: Producer;
  readonly #groupId: string;
  #broken = false;

  constructor(
    settings: KafkaSettings,
    options: { transactionalId: string; groupId: string; clientId: string; log: KafkaLog },
  ) {
    this.#groupId = options.groupId;
    this.#producer = createKafka(settings, options.clientId, { retry: LANE_RETRY, log: options.log }).producer({
      transactionalId: options.transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      retry: LANE_RETRY,
    });
  }

  /** @throws LaneProducerError when Kafka cannot be reached in time */
  async open(): Promise<void> {
    await this.#guarded('open', OPEN_DEADLINE_MS, () => this.#producer.connect());
  }

  /**
   * Commits records and offsets in one transaction. The first commit also initialises the transactional id.
   * @throws LaneProducerError whenever it is not certain that all was committed
   */
  async commit(records: readonly OutgoingRecord[], offsets: readonly GroupOffsets[]): Promise<void> {
    await this.#guarded('commit', COMMIT_DEADLINE_MS, async () => {
      const transaction = await this.#producer.transaction();
      const topicMessages = byTopic(records);
      const acknowledged = await transaction.sendBatch({ topicMessages });
      const wanted = new Set(records.map((record) => `${record.topic}/${record.partition}`));
      for (const { topicName, partition, errorCode } of acknowledged) {
        if (errorCode === 0) wanted.delete(`${topicName}/${partition}`);
      }
      if (wanted.size > 0) throw new Error(`not acknowledged: ${[...wanted].join(', ')}`);
      if (offsets.length > 0)
        await transaction.sendOffsets({ consumerGroupId: this.#groupId, topics: offsetTopics(offsets) });
      await transaction.commit();
    });
  }

  /**
   * Ends every producer of the transactional id: an open transaction is aborted, what is sent later is refused. For good
   * for this producer, too.
   * @throws LaneProducerError when that is not certain
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

  async #guarded(what: string, deadlineMs: number, work: () => Promise<void>): Promise<void> {
    if (this.#broken) throw new LaneProducerError(`${what}: the producer was dropped`);
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${deadlineMs} ms`)), deadlineMs);
    });
    try {
      await Promise.race([work(), deadline]);
    } catch (error) {
      this.#broken = true;
      throw new LaneProducerError(`${what} failed: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

function byTopic(records: readonly OutgoingRecord[]): { topic: string; messages: Message[] }[] {
  const topics = Map.groupBy(records, (record) => record.topic);
  return [...topics].map(([topic, messages]) => ({
    topic,
    // kafkajs writes null headers; its types do not know.
    messages: messages.map(({ partition, key, value, headers }) => ({
      partition,
      key,
      value,
      headers: headers as IHeaders,
    })),
  }));
}

function offsetTopics(
  offsets: readonly GroupOffsets[],
): { topic: string; partitions: { partition: number; offset: string }[] }[] {
  return offsets.map(({ topic, partition, offset }) => ({
    topic,
    partitions: [{ partition, offset: offset.toString() }],
  }));
}
