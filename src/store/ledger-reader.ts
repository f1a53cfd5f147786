/**
 * Continuously reads all lanes of the ledger topic into the index: every member is a warm standby.
 *
 * It starts at the index's checkpoints, so it does not reread what an earlier process applied.
 *
 *   read, or reported by a lane that is open here -> applied
 *
 * An open lane knows its own commits. While it reports them, the reader does not fetch the lane's partition. The reader fetches
 * it again if the lane reports nothing for a while, is no longer open, or is about to be taken.
 *
 * A new owner recognizes the end of a restore by its own record: `seen` resolves once the reader has applied the owner record
 * with the token, and everything before it.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { TopicTail, type TailedRecord } from '../consumers/topic-tail.ts';
import {
  CLAIM_PREFIX,
  decodeClaim,
  isOwnerRecordOf,
  OWNER_KEY,
  POSITION_KEY,
  TRANSACTION_PREFIX,
  type Claimant,
} from '../ledger/ledger-records.ts';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import type { KafkaLog } from 'payment-processor-contract/kafka/kafka-log';
import type { WrittenAt } from '../producers/producer-session.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import type { LedgerRecord } from './ledger-index.ts';
import type { LmdbLedgerIndex } from './lmdb-ledger-index.ts';

/** A commit of a lane that is open here. */
export interface OwnCommit extends WrittenAt {
  /**
   * It directly follows the producer's previous commit: only a control record lies between them. Brokers write a transaction's
   * control record before its producer's next transaction, so nothing else fits into the one offset between them.
   */
  readonly isNext: boolean;
  /** Its records in the lane's ledger, in order. */
  readonly records: readonly OutgoingRecord[];
}

export interface LedgerReaderOptions {
  readonly settings: KafkaSettings;
  readonly groupId: string;
  readonly clientId: string;
  readonly topic: string;
  readonly laneCount: number;
  readonly sessionTimeoutMs: number;
  readonly index: Pick<LmdbLedgerIndex, 'applyBatch' | 'checkpoint'>;
  readonly log: KafkaLog;
  /** The lane is open in this process. */
  readonly isOpen: (lane: number) => boolean;
  /** An owner's commit, which ends with this position record, has been applied. */
  readonly onCommitApplied: (lane: number, position: Buffer) => void;
  /** A new state of a transaction has been applied. */
  readonly onTransactionState: (value: Buffer) => void;
  /** Every record of the lane before the offset has been read, or never reaches readers. */
  readonly onPosition: (lane: number, nextOffset: bigint) => void;
  readonly clock: Clock;
  /** Reading cannot continue: a record is unreadable, the reader was away for too long, or kafkajs gave up. */
  readonly onFatal: (error: Error) => void;
}

/** An acquisition that waits for its owner record. */
interface Wait {
  /** Of our owner record. */
  readonly token: string;
  /**
   * Records of claims, by key. Decoded at the end: compaction keeps only a schema's last copy, which may come after the claims that
   * use it.
   */
  readonly claims: Map<string, Buffer>;
  /** Called at that record, with the claims of others before it that still stand. */
  readonly seen: (claimants: readonly Claimant[]) => void;
}

/** After this long without a commit, the reader fetches the lane from Kafka again. */
const SILENT_MS = 2_000;

export class LedgerReader {
  readonly #options: LedgerReaderOptions;
  readonly #tail: TopicTail;
  /** Next offset to read, by lane. */
  readonly #next: bigint[];
  /** The same, but past the control records that follow the last record: those never reach readers. */
  readonly #passed: bigint[];
  /** By lane. */
  readonly #waiting = new Map<number, Wait>();
  /** Lanes that are not fetched, with the time of their last reported commit, on the monotonic clock. */
  readonly #reporting = new Map<number, number>();
  #checkTimer: NodeJS.Timeout | null = null;
  #lastFetch: { wallMs: number; monotonicMs: number } | null = null;
  #awayMsMax = Infinity;
  #isStopping = false;

  constructor(options: LedgerReaderOptions) {
    this.#options = options;
    this.#next = Array.from({ length: options.laneCount }, () => 0n);
    this.#passed = [...this.#next];
    this.#tail = new TopicTail({
      ...options,
      groupId: `${options.groupId}-ledger`,
      partitionCount: options.laneCount,
      nextOffset: (lane) => this.#next[lane] ?? 0n,
      onRecords: (lane, records, nextOffset) => this.#read(lane, records.map(recordOf), nextOffset),
      onFiltered: (lane, fetchedOffset, lastOffset) => {
        if (fetchedOffset <= this.position(lane)) this.#pass(lane, lastOffset + 1n);
      },
      onFetched: () => this.#sawProgress(),
    });
  }

  /**
   * The index must be open, and must just have been compared with the topic. May be called again after it rejects: it holds
   * no connection then.
   * @param awayMsMax after that long without reading, compaction may have removed tombstones that we have not read
   */
  async start(awayMsMax: number): Promise<void> {
    const { clock, index } = this.#options;
    this.#awayMsMax = awayMsMax;
    // Time away counts from here: the first fetch may take long.
    this.#lastFetch = { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    for (const lane of this.#next.keys()) {
      this.#next[lane] = index.checkpoint(lane).nextOffset;
      this.#pass(lane, this.#next[lane]);
    }
    await this.#tail.start();
  }

  /**
   * Resolves once the owner record with the token has been applied; rejects after the deadline.
   * @returns the other claimants whose claims were applied between this call and that record, and still stood then
   */
  async seen(lane: number, token: string, deadlineMs: number): Promise<readonly Claimant[]> {
    const { promise, reject, resolve } = Promise.withResolvers<readonly Claimant[]>();
    const wait: Wait = { token, claims: new Map(), seen: resolve };
    const timer = setTimeout(() => {
      reject(new Error(`the reader did not reach the end of the ledger within ${deadlineMs} ms`));
    }, deadlineMs);
    this.#waiting.set(lane, wait);
    this.fetchAgain(lane);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      if (this.#waiting.get(lane) === wait) this.#waiting.delete(lane);
    }
  }

  /**
   * Takes the commits of a lane that is open here, in their order. If there are unread records before a commit, the reader
   * fetches them from Kafka.
   */
  ownCommitted(lane: number, commit: OwnCommit): void {
    const { firstOffset, isNext, records, timestampMs } = commit;
    if (this.#isStopping) return;
    const neededOffset = isNext ? firstOffset - 1n : firstOffset;
    if ((this.#next[lane] ?? 0n) < neededOffset) {
      this.fetchAgain(lane);
      return;
    }
    if (this.#options.isOpen(lane)) this.#recordReport(lane);
    const written = records.map(({ key, value }, index): LedgerRecord => {
      return { key: String(key), value, offset: firstOffset + BigInt(index), timestampMs };
    });
    this.#read(lane, written, firstOffset + BigInt(records.length));
  }

  /** Offset before which the index has every record of the lane that reaches readers. */
  position(lane: number): bigint {
    return this.#passed[lane] ?? 0n;
  }

  /** From now on the reader applies nothing. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#checkTimer !== null) clearTimeout(this.#checkTimer);
    await this.#tail.stop();
  }

  #read(lane: number, records: readonly LedgerRecord[], nextOffset: bigint): void {
    const next = this.#next[lane] ?? 0n;
    // Between a join and its seek, the tail may deliver records that we have read already.
    if (nextOffset <= next || this.#isStopping) return;
    const unread = records.filter(({ offset }) => offset >= next);
    this.#options.index.applyBatch(lane, unread, nextOffset);
    this.#next[lane] = nextOffset;
    this.#announce(lane, unread);
    this.#pass(lane, nextOffset);
  }

  /** From now on the reader fetches the lane from Kafka. */
  fetchAgain(lane: number): void {
    if (this.#reporting.delete(lane)) this.#tail.resume(lane);
  }

  #recordReport(lane: number): void {
    if (!this.#reporting.has(lane)) this.#tail.pause(lane);
    this.#reporting.set(lane, this.#options.clock.monotonicMs());
    this.#checkTimer ??= setTimeout(() => this.#checkReports(), SILENT_MS);
    // If no lane is fetched, only these reports show that this process was not frozen or cut off.
    if (this.#reporting.size === this.#options.laneCount) this.#sawProgress();
  }

  #checkReports(): void {
    const { clock } = this.#options;
    this.#checkTimer = null;
    for (const [lane, reportedMs] of this.#reporting)
      if (clock.monotonicMs() - reportedMs >= SILENT_MS) this.fetchAgain(lane);
    if (this.#reporting.size > 0) this.#checkTimer = setTimeout(() => this.#checkReports(), SILENT_MS);
  }

  /** Called before fetched or reported records are applied: a process that was frozen or cut off for too long must not continue. */
  #sawProgress(): void {
    const { clock, onFatal } = this.#options;
    const [wallMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const before = this.#lastFetch ?? { wallMs, monotonicMs };
    const awayMs = Math.max(wallMs - before.wallMs, monotonicMs - before.monotonicMs);
    this.#lastFetch = { wallMs, monotonicMs };
    if (awayMs <= this.#awayMsMax || this.#isStopping) return;
    this.#isStopping = true;
    onFatal(
      new Error(
        `the ledger was not read for ${Math.round(awayMs / 1000)} s: compaction may have removed tombstones that we have not read`,
      ),
    );
  }

  #pass(lane: number, nextOffset: bigint): void {
    if (nextOffset < this.position(lane)) return;
    this.#passed[lane] = nextOffset;
    this.#options.onPosition(lane, nextOffset);
  }

  /** Announces only the last version of each transaction state: earlier ones are outdated. */
  #announce(lane: number, records: readonly LedgerRecord[]): void {
    const wait = this.#waiting.get(lane);
    const states = new Map<string, Buffer>();
    for (const { key, value } of records) {
      if (wait !== undefined) noteClaim(wait, key, value);
      if (value === null) continue;
      if (key === POSITION_KEY) this.#options.onCommitApplied(lane, value);
      else if (key.startsWith(TRANSACTION_PREFIX)) states.set(key, value);
    }
    for (const value of states.values()) this.#options.onTransactionState(value);
  }
}

/** Gets every record of the lane, in order, from the beginning of the wait on. */
function noteClaim({ claims, seen, token }: Wait, key: string, value: Buffer | null): void {
  if (key.startsWith(CLAIM_PREFIX)) {
    // Null: its owner released the lane, or it was fenced.
    if (value === null) claims.delete(key);
    else claims.set(key, value);
  } else if (key === OWNER_KEY && value !== null && isOwnerRecordOf(value, token)) {
    const found = [...claims].map(([name, claim]) => decodeClaim(name, claim));
    seen(found.filter((claim) => !claim.isFenced && claim.token !== token));
  }
}

/** Copies the value: its bytes would keep the whole fetch in memory. */
function recordOf({ isBrokersTime, key, offset, timestampMs, value }: TailedRecord): LedgerRecord {
  return {
    key,
    value: value === null ? null : Buffer.from(value),
    offset,
    timestampMs: isBrokersTime ? timestampMs : 0,
  };
}
