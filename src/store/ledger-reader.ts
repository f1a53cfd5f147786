/**
 * Reads the ledger topic, all lanes, all the time, into the index: every member is a warm standby. One consumer in a
 * group of its own, since kafkajs cannot read partitions without a group.
 *
 * It begins where the index's checkpoints are: what a former process applied is not read again.
 *
 * The end of a restore is seen by a record of one's own: `seen` resolves when the owner record with the token has been
 * applied, and everything before it.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, KafkaMessage } from 'kafkajs';
import type { Clock } from '../clock.ts';
import type { LedgerRecord } from './ledger-index.ts';
import type { LmdbLedgerIndex } from './lmdb-ledger-index.ts';
import {
  decodeOwner,
  decodePosition,
  OWNER_KEY,
  POSITION_KEY,
  TRANSACTION_PREFIX,
  type OwnerRecord,
} from '../ledger/ledger-records.ts';
import {
  createKafka,
  CONSUMER_RETRY,
  PATIENT_RETRY,
  type KafkaLog,
  type KafkaSettings,
} from '../producers/kafka-client.ts';
import { disconnectWithin } from '../producers/disconnecting.ts';

export interface LedgerReaderOptions {
  readonly settings: KafkaSettings;
  readonly groupId: string;
  readonly clientId: string;
  readonly topic: string;
  readonly laneCount: number;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly index: Pick<LmdbLedgerIndex, 'applyBatch' | 'checkpoint'>;
  readonly log: KafkaLog;
  /** A commit of an owner has been applied, up to and with its number. */
  readonly onCommitApplied: (lane: number, token: string, commit: number) => void;
  /** A new state of a transaction has been applied. */
  readonly onTransactionState: (value: Buffer) => void;
  /** Everything of the lane below the offset has been applied, or was not for readers. */
  readonly onPosition: (lane: number, nextOffset: bigint) => void;
  readonly clock: Clock;
  /** It cannot go on: a record cannot be read, it was away for too long, or kafkajs gave up. */
  readonly onFatal: (error: Error) => void;
}

interface OwnerWait {
  readonly token: string;
  readonly earlier: OwnerRecord[];
  readonly resolve: (earlier: readonly OwnerRecord[]) => void;
}

/** Of Kafka's protocol. */
const LOG_APPEND_TIME = 1;
const FETCH_WAIT_MS = 50;
const FETCH_BYTES_MAX = 1024 * 1024;
const STOP_DEADLINE_MS = 3_000;

export class LedgerReader {
  readonly #options: LedgerReaderOptions;
  readonly #consumer: Consumer;
  /** Next offset to be applied, by lane. */
  readonly #next: bigint[];
  /** The same, with control records that lie behind the last record: those reach nobody, but the position is past them. */
  readonly #passed: bigint[];
  /** Acquisitions that wait for their owner record, by lane. */
  readonly #waiting = new Map<number, OwnerWait>();
  #recordsApplied = 0;
  #lastFetch: { wallMs: number; monotonicMs: number } | null = null;
  #isStopping = false;

  constructor(options: LedgerReaderOptions) {
    this.#options = options;
    this.#next = Array.from({ length: options.laneCount }, () => 0n);
    this.#passed = [...this.#next];
    this.#consumer = createKafka(options.settings, options.clientId, {
      retry: PATIENT_RETRY,
      log: options.log,
    }).consumer({
      groupId: `${options.groupId}-ledger-${randomUUID()}`,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      maxBytesPerPartition: FETCH_BYTES_MAX,
      readUncommitted: false,
      allowAutoTopicCreation: false,
      // The group has one member: what a restart waits for is only its own earlier membership.
      sessionTimeout: options.sessionTimeoutMs,
      heartbeatInterval: options.heartbeatIntervalMs,
      rebalanceTimeout: options.sessionTimeoutMs,
      retry: CONSUMER_RETRY,
    });
  }

  /**
   * The index must be open.
   * @param awayMsMax after that long without reading, what is read no longer tells of all that was deleted
   */
  async start(awayMsMax: number): Promise<void> {
    const { index, topic, onFatal } = this.#options;
    for (const lane of this.#next.keys()) {
      this.#next[lane] = index.checkpoint(lane).nextOffset;
      this.#pass(lane, this.#next[lane]);
    }
    const consumer = this.#consumer;
    consumer.on(consumer.events.GROUP_JOIN, () => {
      // A join rewinds to the beginning; going over it again would show lanes the past.
      this.#next.forEach((offset, partition) => {
        if (offset > 0n) consumer.seek({ topic, partition, offset: offset.toString() });
      });
    });
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
      const { batchSize, lastOffset, partition } = payload;
      const firstOffset = (payload.firstOffset as string | null) ?? lastOffset;
      if (batchSize > 0 || BigInt(firstOffset) > this.position(partition)) return;
      this.#pass(partition, BigInt(lastOffset) + 1n);
    });
    consumer.on(consumer.events.REQUEST, ({ payload }) => {
      if (payload.apiName === 'Fetch') this.#fetched(awayMsMax);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) onFatal(payload.error);
    });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async (payload) => {
        const { batch } = payload;
        try {
          this.#apply(batch.partition, batch.messages, BigInt(batch.lastOffset()) + 1n);
          payload.resolveOffset(batch.lastOffset());
        } catch (error) {
          onFatal(error instanceof Error ? error : new Error(String(error)));
        }
      },
    });
  }

  /**
   * Resolves when the owner record with the token has been applied; rejects after the deadline.
   * @returns owners that were applied since this was asked for, before that one
   */
  async seen(lane: number, token: string, deadlineMs: number): Promise<readonly OwnerRecord[]> {
    const { promise, reject, resolve } = Promise.withResolvers<readonly OwnerRecord[]>();
    const wait: OwnerWait = { token, earlier: [], resolve };
    const timer = setTimeout(() => {
      reject(new Error(`the ledger was not read to its end within ${deadlineMs} ms`));
    }, deadlineMs);
    this.#waiting.set(lane, wait);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      if (this.#waiting.get(lane) === wait) this.#waiting.delete(lane);
    }
  }

  recordsApplied(): number {
    return this.#recordsApplied;
  }

  /** Everything of the lane below has been applied, or was not for readers. */
  position(lane: number): bigint {
    return this.#passed[lane] ?? 0n;
  }

  /** Nothing is applied from here on. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await disconnectWithin(this.#consumer, STOP_DEADLINE_MS);
  }

  #apply(lane: number, messages: readonly KafkaMessage[], nextOffset: bigint): void {
    const next = this.#next[lane] ?? 0n;
    // After a join and before its seek, records may come that have been applied.
    if (nextOffset <= next || this.#isStopping) return;
    const records = messages.flatMap((message) => recordOf(message)).filter(({ offset }) => offset >= next);
    this.#options.index.applyBatch(lane, records, nextOffset);
    this.#next[lane] = nextOffset;
    this.#recordsApplied += records.length;
    for (const record of records) this.#tell(lane, record);
    this.#pass(lane, nextOffset);
  }

  /** Before what was fetched is applied: a process that was frozen or cut off for days must not read on. */
  #fetched(awayMsMax: number): void {
    const { clock, onFatal } = this.#options;
    const [wallMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const before = this.#lastFetch ?? { wallMs, monotonicMs };
    const awayMs = Math.max(wallMs - before.wallMs, monotonicMs - before.monotonicMs);
    this.#lastFetch = { wallMs, monotonicMs };
    if (awayMs <= awayMsMax || this.#isStopping) return;
    this.#isStopping = true;
    onFatal(
      new Error(
        `the ledger was not read for ${Math.round(awayMs)} ms: what was deleted meanwhile may have left no trace`,
      ),
    );
  }

  #pass(lane: number, nextOffset: bigint): void {
    if (nextOffset < this.position(lane)) return;
    this.#passed[lane] = nextOffset;
    this.#options.onPosition(lane, nextOffset);
  }

  #tell(lane: number, { key, value }: LedgerRecord): void {
    if (value === null) return;
    if (key.startsWith(TRANSACTION_PREFIX)) this.#options.onTransactionState(value);
    else if (key === POSITION_KEY) {
      const { token, commit } = decodePosition(value);
      this.#options.onCommitApplied(lane, token, commit);
    } else if (key === OWNER_KEY) {
      const owner = decodeOwner(value);
      const wait = this.#waiting.get(lane);
      if (wait?.token === owner.token) wait.resolve(wait.earlier);
      else wait?.earlier.push(owner);
    }
  }
}

/** A record without a key is not ours. */
function recordOf(message: KafkaMessage): LedgerRecord[] {
  // What the patched client hands over for a batch that it cannot read: it may be ours, so nothing may be passed over.
  if ('unreadableBatch' in message) throw new Error(`the ledger has a batch at ${message.offset} that cannot be read`);
  const { headers, key, offset, timestamp, value } = message;
  if (key === null) return [];
  const state = headers?.['state'];
  return [
    {
      key: key.toString(),
      value,
      state: Buffer.isBuffer(state) ? state.toString() : null,
      offset: BigInt(offset),
      timestampMs: isBrokersTime(message) ? Number(timestamp) : 0,
    },
  ];
}

/** Of a batch under LogAppendTime; kafkajs has it, its types do not. Ledgers of earlier releases began without. */
function isBrokersTime(message: KafkaMessage): boolean {
  const { batchContext } = message as { batchContext?: { timestampType?: number } };
  return batchContext?.timestampType === LOG_APPEND_TIME;
}
