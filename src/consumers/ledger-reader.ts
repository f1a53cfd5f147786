/**
 * Reads the ledger topic, all lanes, all the time, into the index: every member is a warm standby. One consumer in a
 * group of its own, since kafkajs cannot read partitions without a group.
 *
 * The end of a restore is seen by a record of one's own: `seen(token)` resolves when the owner record with that token
 * has been applied, and everything before it.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer } from 'kafkajs';
import type { LedgerIndex } from '../ledger/ledger-index.ts';
import { decodeOwner, decodePosition, OWNER_KEY, POSITION_KEY } from '../ledger/ledger-records.ts';
import { createKafka, PATIENT_RETRY, type KafkaLog, type KafkaSettings } from '../producers/kafka-client.ts';

export interface LedgerReaderOptions {
  readonly settings: KafkaSettings;
  readonly groupId: string;
  readonly clientId: string;
  readonly topic: string;
  readonly laneCount: number;
  readonly index: LedgerIndex;
  readonly log: KafkaLog;
  /** A commit of an owner has been applied, up to and with its number. */
  readonly onCommitApplied: (lane: number, token: string, commit: number) => void;
  /** It cannot go on: a record cannot be read, or kafkajs gave up. */
  readonly onFatal: (error: Error) => void;
}

const FETCH_WAIT_MS = 50;
const FETCH_BYTES_MAX = 1024 * 1024;
const STOP_DEADLINE_MS = 3_000;

export class LedgerReader {
  readonly #options: LedgerReaderOptions;
  readonly #consumer: Consumer;
  /** Next offset to be applied, by lane; -1: none yet. */
  readonly #next: bigint[];
  readonly #waiting = new Map<string, () => void>();
  #recordsApplied = 0;

  constructor(options: LedgerReaderOptions) {
    this.#options = options;
    this.#next = Array.from({ length: options.laneCount }, () => -1n);
    this.#consumer = createKafka(options.settings, options.clientId, {
      retry: PATIENT_RETRY,
      log: options.log,
    }).consumer({
      groupId: `${options.groupId}-ledger-${randomUUID()}`,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      maxBytesPerPartition: FETCH_BYTES_MAX,
      readUncommitted: false,
      retry: PATIENT_RETRY,
    });
  }

  async start(): Promise<void> {
    const { topic, onFatal } = this.#options;
    const consumer = this.#consumer;
    consumer.on(consumer.events.GROUP_JOIN, () => {
      // A join rewinds to the beginning; going over it again would show lanes the past.
      this.#next.forEach((offset, partition) => {
        if (offset >= 0n) consumer.seek({ topic, partition, offset: offset.toString() });
      });
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
          for (const message of batch.messages) this.#apply(batch.partition, message);
          payload.resolveOffset(batch.lastOffset());
        } catch (error) {
          onFatal(error instanceof Error ? error : new Error(String(error)));
        }
      },
    });
  }

  /** Resolves when the owner record with the token has been applied; rejects after the deadline. */
  async seen(token: string, deadlineMs: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(token);
        reject(new Error(`the ledger was not read to its end within ${deadlineMs} ms`));
      }, deadlineMs);
      this.#waiting.set(token, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  recordsApplied(): number {
    return this.#recordsApplied;
  }

  async stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_DEADLINE_MS);
    });
    await Promise.race([this.#consumer.disconnect().catch(() => undefined), deadline]);
    clearTimeout(timer);
  }

  #apply(
    lane: number,
    message: {
      offset: string;
      key: Buffer | null;
      value: Buffer | null;
      headers?: Record<string, unknown> | undefined;
    },
  ): void {
    const offset = BigInt(message.offset);
    if (offset < (this.#next[lane] ?? 0n) || message.key === null) return;
    const key = message.key.toString();
    const stateHeader = message.headers?.['state'];
    this.#options.index.apply(lane, key, message.value, Buffer.isBuffer(stateHeader) ? stateHeader.toString() : null);
    this.#next[lane] = offset + 1n;
    this.#recordsApplied += 1;
    if (message.value === null) return;
    if (key === POSITION_KEY) {
      const { token, commit } = decodePosition(message.value);
      this.#options.onCommitApplied(lane, token, commit);
    } else if (key === OWNER_KEY) {
      const { token } = decodeOwner(message.value);
      this.#waiting.get(token)?.();
      this.#waiting.delete(token);
    }
  }
}
