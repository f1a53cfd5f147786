/**
 * Reads all partitions of a topic, from given offsets on, without end. It uses one consumer in its own group, because
 * kafkajs cannot read partitions without a group. It commits nothing.
 *
 *   started (may be retried) -> reading -> stopped, after which no record is handed over
 *
 * A partition may be paused; records already fetched by then may still be handed over.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, KafkaMessage } from 'kafkajs';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import {
  createKafka,
  CONSUMER_METADATA_MS_MAX,
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
  readonly timestampMs: number;
  /** Whether the broker set the timestamp when it wrote the record; else a client did. */
  readonly isBrokersTime: boolean;
}

export interface TailOptions {
  readonly settings: KafkaSettings;
  readonly groupId: string;
  readonly clientId: string;
  readonly topic: string;
  readonly partitionCount: number;
  readonly sessionTimeoutMs: number;
  readonly log: KafkaLog;
  /** Offset to read next in a partition; 0: its beginning. */
  readonly nextOffset: (partition: number) => bigint;
  /** If set, records without a key come with an empty key; otherwise they are left out. */
  readonly takesKeyless?: true;
  /** Records in order; some may be repeats. */
  readonly onRecords: (partition: number, records: readonly TailedRecord[], nextOffset: bigint) => void;
  /** From the first of these offsets to the last there is nothing for readers. */
  readonly onFiltered: (partition: number, fetchedOffset: bigint, lastOffset: bigint) => void;
  /** The brokers answered. Called before their records are handed over. */
  readonly onFetched: () => void;
  /** Reading cannot continue: `onRecords` threw, a batch is unreadable, or kafkajs gave up. */
  readonly onFatal: (error: Error) => void;
}

/** Timestamp type in Kafka's protocol. */
const LOG_APPEND_TIME = 1;
const FETCH_WAIT_MS = 250;
/** Longest wait of a fetch while nothing is paused. It may be longer, because no resume waits for the fetch. */
const UNPAUSED_FETCH_WAIT_MS = 1_000;
const FETCH_BYTES_MAX = 1024 * 1024;
/** Few are enough: the group has no other member. */
const HEARTBEATS_PER_SESSION = 3;
const STOP_DEADLINE_MS = 3_000;

export class TopicTail {
  readonly #options: TailOptions;
  /** From the last attempt to start; null before the first, and after a failed one. */
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
        this.#paused.size > 0 ? FETCH_WAIT_MS : Math.min(UNPAUSED_FETCH_WAIT_MS, heartbeatIntervalMs),
      maxBytesPerPartition: FETCH_BYTES_MAX,
      readUncommitted: false,
      allowAutoTopicCreation: false,
      metadataMaxAge: CONSUMER_METADATA_MS_MAX,
      // The group has one member, so a restart waits only for its own earlier membership.
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      rebalanceTimeout: sessionTimeoutMs,
      retry: CONSUMER_RETRY,
    });
  }

  /** Rejects if Kafka does not answer, or refuses. It has then closed what it opened, and may be called again. */
  async start(): Promise<void> {
    const { nextOffset, onFatal, onFetched, onFiltered, onRecords, partitionCount, takesKeyless, topic } =
      this.#options;
    const consumer = this.#makeConsumer();
    this.#consumer = consumer;
    consumer.on(consumer.events.GROUP_JOIN, () => {
      // A join rewinds to the beginning, and we would read everything again.
      for (let partition = 0; partition < partitionCount; partition += 1) {
        const offset = nextOffset(partition);
        if (offset > 0n) consumer.seek({ topic, partition, offset: offset.toString() });
      }
      // A restarted client has forgotten its pauses.
      if (this.#paused.size > 0) consumer.pause([{ topic, partitions: [...this.#paused] }]);
    });
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
      const { batchSize, fetchedOffset, lastOffset, partition } = payload;
      if (batchSize === 0) onFiltered(partition, BigInt(fetchedOffset), BigInt(lastOffset));
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
    // Stopped meanwhile: nobody else would stop this consumer.
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

  /** Stops fetching the partition until `resume`. */
  pause(partition: number): void {
    this.#paused.add(partition);
    this.#whileRunning((consumer) => consumer.pause([{ topic: this.#options.topic, partitions: [partition] }]));
  }

  /** Fetches the partition again, from its next offset. */
  resume(partition: number): void {
    const { nextOffset, topic } = this.#options;
    this.#paused.delete(partition);
    this.#whileRunning((consumer) => {
      consumer.seek({ topic, partition, offset: nextOffset(partition).toString() });
      consumer.resume([{ topic, partitions: [partition] }]);
    });
  }

  /** A client that is starting or restarting rejects these calls. Its next join does what they asked for. */
  #whileRunning(action: (consumer: Consumer) => void): void {
    if (this.#consumer === null) return;
    try {
      action(this.#consumer);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      this.#options.log({ level: 'debug', message: 'pause-or-resume-deferred', fields: { problem } });
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#consumer !== null) await disconnectWithin(this.#consumer, STOP_DEADLINE_MS);
  }
}

function recordOf(topic: string, message: KafkaMessage, takesKeyless: boolean): TailedRecord[] {
  // The patched client marks a batch that it cannot read. We may have written it, so we must not skip it.
  if ('unreadableBatch' in message) throw new Error(`${topic}: the batch at offset ${message.offset} cannot be read`);
  const { headers = {}, key, offset, timestamp, value } = message;
  if (key === null && !takesKeyless) return [];
  const time = { timestampMs: Number(timestamp), isBrokersTime: isBrokersTime(message) };
  return [{ key: key?.toString() ?? '', value, headers, offset: BigInt(offset), ...time }];
}

/** True for a batch under LogAppendTime; kafkajs sets the field, but its types lack it. */
function isBrokersTime(message: KafkaMessage): boolean {
  const { batchContext } = message as { batchContext?: { timestampType?: number } };
  return batchContext?.timestampType === LOG_APPEND_TIME;
}
