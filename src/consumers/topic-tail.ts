/**
 * Reads all partitions of a topic, from given offsets on, for ever. One consumer in a group of its own, since kafkajs
 * cannot read partitions without a group; nothing is committed.
 *
 *   started (may be tried again) -> reading -> stopped, after which nothing is handed over any more
 *
 * A partition may be paused meanwhile; what was fetched of it by then is handed over all the same.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, KafkaMessage } from 'kafkajs';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import {
  createKafka,
  CONSUMER_RETRY,
  PATIENT_RETRY,
  type KafkaSettings,
} from 'payment-processor-contract/kafka/kafka-client';
import type { KafkaLog } from 'payment-processor-contract/kafka/kafka-log';

export interface TailedRecord {
  readonly key: string;
  /** Null: a tombstone. */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly offset: bigint;
  /** When the broker wrote it, by its clock; 0: not known, for it was written under a clock of ours. */
  readonly timestampMs: number;
}

export interface TailOptions {
  readonly settings: KafkaSettings;
  readonly groupId: string;
  readonly clientId: string;
  readonly topic: string;
  readonly partitionCount: number;
  readonly sessionTimeoutMs: number;
  readonly log: KafkaLog;
  /** Where a partition is read from next; 0: from its beginning. */
  readonly nextOffset: (partition: number) => bigint;
  /** Records without a key are handed over with an empty one; else they are left out. */
  readonly takesKeyless?: true;
  /** Records in their order; some may have been handed over before. */
  readonly onRecords: (partition: number, records: readonly TailedRecord[], nextOffset: bigint) => void;
  /** From the one offset to the other there is nothing for readers. */
  readonly onFiltered: (partition: number, firstOffset: bigint, lastOffset: bigint) => void;
  /** The brokers answered, before what they sent is handed over. */
  readonly onFetched: () => void;
  /** It cannot go on: `onRecords` threw, a batch cannot be read, or kafkajs gave up. */
  readonly onFatal: (error: Error) => void;
}

/** Of Kafka's protocol. */
const LOG_APPEND_TIME = 1;
const FETCH_WAIT_MS = 250;
/** While nothing is paused, and so nothing may have to be fetched again at once. */
const CALM_FETCH_WAIT_MS = 1_000;
const FETCH_BYTES_MAX = 1024 * 1024;
/** There is nobody else in the group whom it would have to tell anything. */
const HEARTBEATS_PER_SESSION = 3;
const STOP_DEADLINE_MS = 3_000;

export class TopicTail {
  readonly #options: TailOptions;
  /** Of the last try to start; null before the first, and after one that failed. */
  #consumer: Consumer | null = null;
  readonly #paused = new Set<number>();
  #isStopped = false;

  constructor(options: TailOptions) {
    this.#options = options;
  }

  #makeConsumer(): Consumer {
    const { clientId, groupId, log, sessionTimeoutMs, settings } = this.#options;
    const heartbeatIntervalMs = Math.floor(sessionTimeoutMs / HEARTBEATS_PER_SESSION);
    return createKafka(settings, clientId, { retry: PATIENT_RETRY, log }).consumer({
      groupId: `${groupId}-${randomUUID()}`,
      maxWaitTimeInMs: () =>
        this.#paused.size > 0 ? FETCH_WAIT_MS : Math.min(CALM_FETCH_WAIT_MS, heartbeatIntervalMs),
      maxBytesPerPartition: FETCH_BYTES_MAX,
      readUncommitted: false,
      allowAutoTopicCreation: false,
      // The group has one member: what a restart waits for is only its own earlier membership.
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      rebalanceTimeout: sessionTimeoutMs,
      retry: CONSUMER_RETRY,
    });
  }

  /** Rejects where no broker answers, having closed what it opened: it may be called again. */
  async start(): Promise<void> {
    const { nextOffset, onFatal, onFetched, onFiltered, onRecords, partitionCount, takesKeyless, topic } =
      this.#options;
    const consumer = this.#makeConsumer();
    this.#consumer = consumer;
    consumer.on(consumer.events.GROUP_JOIN, () => {
      // A join rewinds to the beginning; going over it again would show the past.
      for (let partition = 0; partition < partitionCount; partition += 1) {
        const offset = nextOffset(partition);
        if (offset > 0n) consumer.seek({ topic, partition, offset: offset.toString() });
      }
      // The client restarts with a new memory.
      if (this.#paused.size > 0) consumer.pause([{ topic, partitions: [...this.#paused] }]);
    });
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
      const { batchSize, lastOffset, partition } = payload;
      const firstOffset = (payload.firstOffset as string | null) ?? lastOffset;
      if (batchSize === 0) onFiltered(partition, BigInt(firstOffset), BigInt(lastOffset));
    });
    consumer.on(consumer.events.REQUEST, ({ payload }) => {
      if (payload.apiName === 'Fetch') onFetched();
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) onFatal(payload.error);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
    } catch (error) {
      this.#consumer = null;
      await disconnectWithin(consumer, STOP_DEADLINE_MS);
      throw error;
    }
    // Stopped meanwhile: nobody would stop it any more.
    if (this.#isStopped) return this.stop();
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async (payload) => {
        const { batch } = payload;
        try {
          onRecords(
            batch.partition,
            batch.messages.flatMap((message) => recordOf(topic, message, takesKeyless === true)),
            BigInt(batch.lastOffset()) + 1n,
          );
          payload.resolveOffset(batch.lastOffset());
        } catch (error) {
          onFatal(error instanceof Error ? error : new Error(String(error)));
        }
      },
    });
  }

  /** Fetches the partition no more, until it is resumed. */
  pause(partition: number): void {
    this.#paused.add(partition);
    this.#whileRunning((consumer) => consumer.pause([{ topic: this.#options.topic, partitions: [partition] }]));
  }

  /** Fetches the partition again, from where it is to be read next. */
  resume(partition: number): void {
    const { nextOffset, topic } = this.#options;
    this.#paused.delete(partition);
    this.#whileRunning((consumer) => {
      consumer.seek({ topic, partition, offset: nextOffset(partition).toString() });
      consumer.resume([{ topic, partitions: [partition] }]);
    });
  }

  /** A client that starts, or starts again after a crash, takes no orders: with its next join it gets what is wanted then. */
  #whileRunning(order: (consumer: Consumer) => void): void {
    if (this.#consumer === null) return;
    try {
      order(this.#consumer);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      this.#options.log({ level: 'debug', message: 'order-put-off', fields: { problem } });
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#consumer !== null) await disconnectWithin(this.#consumer, STOP_DEADLINE_MS);
  }
}

function recordOf(topic: string, message: KafkaMessage, takesKeyless: boolean): TailedRecord[] {
  // What the patched client hands over for a batch that it cannot read: it may be ours, so nothing may be passed over.
  if ('unreadableBatch' in message) throw new Error(`${topic}: the batch at ${message.offset} cannot be read`);
  const { headers = {}, key, offset, timestamp, value } = message;
  if (key === null && !takesKeyless) return [];
  const timestampMs = isBrokersTime(message) ? Number(timestamp) : 0;
  return [{ key: key?.toString() ?? '', value, headers, offset: BigInt(offset), timestampMs }];
}

/** Of a batch under LogAppendTime; kafkajs has it, its types do not. */
function isBrokersTime(message: KafkaMessage): boolean {
  const { batchContext } = message as { batchContext?: { timestampType?: number } };
  return batchContext?.timestampType === LOG_APPEND_TIME;
}
