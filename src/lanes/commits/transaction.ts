/**
 * A lane's transaction while it is being built: what to write, and what to do once it is committed.
 *
 * It is filled unit by unit: a unit is what one message, answer, due entry or submission leads to. Between units the lane asks
 * whether it is full: each partition's batch is limited, and so is the whole. A unit may begin while every partition is below
 * its share. The code that makes a unit bounds what it adds, so no batch exceeds the limit of its topic.
 */
import type { Entry } from '../../ledger/entry.ts';
import { encodeEntry } from '../../ledger/entry-record.ts';
import { retentionRecords, RETENTION_KEY, type KeyRetention } from '../../ledger/key-retention.ts';
import {
  positionRecords,
  suspectRecords,
  ENTRY_PREFIX,
  POSITION_KEY,
  SUSPECT_KEY,
  TRANSACTION_PREFIX,
  type PositionRecord,
  type Suspect,
} from '../../ledger/ledger-records.ts';
import { batchName, type MessageHeaders, type OutgoingRecord } from '../../producers/record-batch.ts';
import { CARRIER_BYTES_MAX, COMMAND_BATCH_BYTES_MAX } from 'payment-processor-contract/topic-definitions';
import { encodeTransactionState, type TransactionState } from '../../status/transaction-state.ts';
import type { LaneCommit } from './lane-commit.ts';

/**
 * The share of the largest allowed batch at which the transaction is full. The last unit adds at most the rest: the largest
 * answer, as entry or observation, is 2 MiB.
 */
const FULL_SHARE = 0.25;
/** Limit over all partitions. It bounds memory and the time until the commit. */
const BYTES_MAX = 4 * 1024 * 1024;
/** Overhead of a record, and of each header: lengths and deltas at their longest. */
const RECORD_OVERHEAD_BYTES = 40;
const HEADER_OVERHEAD_BYTES = 10;

export interface TransactionOptions {
  readonly lane: number;
  /** Counts the transactions of one ownership, from 1. */
  readonly commit: number;
  readonly ledgerTopic: string;
  /** Topics whose batches may have COMMAND_BATCH_BYTES_MAX bytes; all others may have CARRIER_BYTES_MAX. */
  readonly inputTopics: ReadonlySet<string>;
  /** Infinity, except for a lane that looks for the message that makes it fail. */
  readonly unitsMax: number;
}

interface Encoded<Value> {
  readonly value: Value;
  readonly record: OutgoingRecord;
}

export class LaneTransaction {
  readonly #options: TransactionOptions;
  /** Last state of each entry and payment transaction; earlier ones are not written. */
  readonly #entries = new Map<string, Encoded<Entry>>();
  readonly #transactions = new Map<string, OutgoingRecord>();
  readonly #records: OutgoingRecord[] = [];
  /** Ledger keys to be forgotten. */
  readonly #tombstones = new Map<string, OutgoingRecord>();
  readonly #positions = new Map<string, bigint>();
  /** By topic and partition: how much of the largest allowed batch is used. */
  readonly #shares = new Map<string, number>();
  #bytes = 0;
  #units = 0;
  #soleMessage: { topic: string; offset: bigint } | null = null;
  #isFull = false;
  #phaseUntilMs = Infinity;
  #isPhaseNew = true;
  #isCutShort = false;
  #mustCommit = false;
  /** For metrics, traces and log. They run after the commit: a failed transaction is repeated and would count twice. */
  readonly reports: (() => void)[] = [];
  /** Attempts whose answers this transaction makes durable. */
  readonly settledAttempts: string[] = [];

  constructor(options: TransactionOptions) {
    this.#options = options;
  }

  get commit(): number {
    return this.#options.commit;
  }

  isEmpty(): boolean {
    return this.#bytes === 0 && this.#positions.size === 0 && !this.#mustCommit;
  }

  /** True until something was handled, even if that led to no record. */
  isUntouched(): boolean {
    return this.#units === 0;
  }

  /** Its limit of bytes or units is reached: the rest waits for the next transaction. */
  isFull(): boolean {
    return this.#isFull || this.#units >= this.#options.unitsMax;
  }

  /** Begins a phase of a fill: events, due entries, or some of the inputs. Each may take at least one unit. */
  beginPhase(untilMonotonicMs: number): void {
    this.#phaseUntilMs = untilMonotonicMs;
    this.#isPhaseNew = true;
  }

  /** Asked before each unit. If false, the rest waits for the next fill, of this transaction or of the next one. */
  mayTake(monotonicMs: number): boolean {
    if (this.isFull()) return false;
    const mayTake = this.#isPhaseNew || monotonicMs < this.#phaseUntilMs;
    this.#isPhaseNew = false;
    if (!mayTake) this.#isCutShort = true;
    return mayTake;
  }

  /** There may be more to take: time ran out, or the transaction is full. */
  isCutShort(): boolean {
    return this.#isCutShort || this.isFull();
  }

  /** Commits it even if it is empty: that writes the position again. */
  commitAnyway(): void {
    this.#mustCommit = true;
  }

  /**
   * Everything that one message, answer, entry or submission leads to has been added.
   * @param message the unit's message, if it has one
   */
  unitDone(message: { topic: string; offset: bigint } | null = null): void {
    this.#units += 1;
    this.#soleMessage = this.#units === 1 ? message : null;
  }

  /** The message of its only unit; null if it has more units, or none with a message. */
  soleMessage(): { topic: string; offset: bigint } | null {
    return this.#soleMessage;
  }

  /** @throws if the entry cannot be written; then nothing has changed */
  putEntry(entry: Entry): void {
    const record = this.#ledger(ENTRY_PREFIX + entry.key, encodeEntry(entry));
    this.#entries.set(entry.key, { value: entry, record });
    this.#count(record);
  }

  putTransaction(state: TransactionState): void {
    const record = this.#ledger(TRANSACTION_PREFIX + state.id, encodeTransactionState(state));
    this.#transactions.set(state.id, record);
    this.#count(record);
  }

  /**
   * The transaction takes no further units: one could need the forgotten record.
   * @param ledgerKey of a record that this transaction does not write
   */
  forget(ledgerKey: string): void {
    this.#isFull = true;
    const record = this.#ledger(ledgerKey, null);
    this.#tombstones.set(ledgerKey, record);
    this.#count(record);
  }

  add(...records: readonly OutgoingRecord[]): void {
    for (const record of records) {
      this.#records.push(record);
      this.#count(record);
    }
  }

  /** @param suspect null: clears the previous mark */
  mark(suspect: Suspect | null): void {
    this.add(this.#ledger(SUSPECT_KEY, suspectRecords.encode({ message: suspect })));
  }

  retain(retention: KeyRetention): void {
    this.add(this.#ledger(RETENTION_KEY, retentionRecords.encode(retention)));
  }

  moveTo(topic: string, position: bigint): void {
    this.#positions.set(topic, position);
  }

  /** Entries as they are at the end of this transaction. */
  entries(): Entry[] {
    return [...this.#entries.values()].map(({ value }) => value);
  }

  /**
   * Everything to write. The position record comes last: a reader that has it has the whole commit.
   * @param next offsets of all input topics after this transaction
   */
  toCommit(
    owner: Pick<PositionRecord, 'token' | 'topicIds' | 'epochs'>,
    next: ReadonlyMap<string, bigint>,
  ): LaneCommit {
    const { commit, lane } = this.#options;
    const position = positionRecords.encode({ ...owner, commit, next: Object.fromEntries(next) });
    const records = [
      ...this.#records,
      ...[...this.#entries.values()].map(({ record }) => record),
      ...this.#transactions.values(),
      ...this.#tombstones.values(),
      this.#ledger(POSITION_KEY, position),
    ];
    return { lane, records, shares: this.#shares, bytes: this.#bytes };
  }

  /** Offsets after its messages, by topic. */
  positions(): ReadonlyMap<string, bigint> {
    return this.#positions;
  }

  /** A record put twice counts twice, although only the last one is written. */
  #count(record: OutgoingRecord): void {
    const { inputTopics } = this.#options;
    const bytes = recordBytes(record);
    const batch = batchName(record.topic, record.partition);
    const batchBytesMax = inputTopics.has(record.topic) ? COMMAND_BATCH_BYTES_MAX : CARRIER_BYTES_MAX;
    const share = (this.#shares.get(batch) ?? 0) + bytes / batchBytesMax;
    this.#shares.set(batch, share);
    this.#bytes += bytes;
    if (share >= FULL_SHARE || this.#bytes >= BYTES_MAX) this.#isFull = true;
  }

  #ledger(key: string, value: Buffer | null): OutgoingRecord {
    return { topic: this.#options.ledgerTopic, partition: this.#options.lane, key, value, headers: {} };
  }
}

/** Leaves at least half of the time for later phases. */
export function halfwayMs(nowMs: number, untilMs: number): number {
  return nowMs + (untilMs - nowMs) / 2;
}

/** Upper bound of its bytes in an uncompressed batch. */
function recordBytes({ headers, key, value }: OutgoingRecord): number {
  return RECORD_OVERHEAD_BYTES + lengthOf(key) + lengthOf(value) + headerBytes(headers);
}

function headerBytes(headers: MessageHeaders): number {
  let bytes = 0;
  for (const name in headers) {
    const given = headers[name];
    const values = Array.isArray(given) ? (given as readonly (string | Buffer | null)[]) : [given as string | Buffer];
    for (const value of values) bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + lengthOf(value);
  }
  return bytes;
}

function lengthOf(part: string | Buffer | null): number {
  return part === null ? 0 : Buffer.byteLength(part);
}
