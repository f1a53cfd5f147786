/**
 * One transaction of a lane in the making: what is to be written, and what to do once it is committed.
 *
 * It is filled unit by unit: what one message, one answer, one entry that is due or one submission leads to. Between
 * units it is asked whether it is full, and the batch that each partition gets is measured as it will be written. A
 * partition may be filled up to its share before the last unit; what a unit may add to one partition is bounded where it
 * is made, so that no batch exceeds what its topic takes.
 */
import type { Entry } from '../ledger/entry.ts';
import { encodeEntry } from '../ledger/entry-record.ts';
import {
  encodePosition,
  encodeSuspect,
  ENTRY_PREFIX,
  POSITION_KEY,
  SUSPECT_KEY,
  TRANSACTION_PREFIX,
  type PositionRecord,
  type Suspect,
} from '../ledger/ledger-records.ts';
import { batchName, type MessageHeaders, type OutgoingRecord } from '../producers/record-batch.ts';
import { CARRIER_BYTES_MAX, COMMAND_BATCH_BYTES_MAX } from 'payment-processor-contract/topic-definitions';
import { encodeTransactionState, type TransactionState } from '../status/transaction-state.ts';
import type { LaneCommit } from './lane-commit.ts';

/** Of what a topic's batch may have: a unit adds at most the rest. An answer at its limit, as entry or observation, is 2 MiB. */
const FULL_SHARE = 0.25;
/** Of all partitions together: bounds memory and the time to the commit. */
const BYTES_MAX = 4 * 1024 * 1024;
/** Of a record beside key, value and headers, and of each header: lengths and deltas at their longest. */
const RECORD_OVERHEAD_BYTES = 40;
const HEADER_OVERHEAD_BYTES = 10;

export interface TransactionOptions {
  readonly lane: number;
  /** Counts the transactions of one ownership, from 1. */
  readonly commit: number;
  readonly ledgerTopic: string;
  /** Topics whose batches may have COMMAND_BATCH_BYTES_MAX bytes; all others may have CARRIER_BYTES_MAX. */
  readonly inputTopics: ReadonlySet<string>;
  /** Infinity, or fewer for a lane that looks for what ends it. */
  readonly unitsMax: number;
}

interface Encoded<Value> {
  readonly value: Value;
  readonly record: OutgoingRecord;
}

export class LaneTransaction {
  readonly #options: TransactionOptions;
  /** Last state of each entry and transaction: what came between is nobody's business. */
  readonly #entries = new Map<string, Encoded<Entry>>();
  readonly #transactions = new Map<string, OutgoingRecord>();
  readonly #records: OutgoingRecord[] = [];
  /** Ledger keys to be forgotten. */
  readonly #tombstones = new Map<string, OutgoingRecord>();
  readonly #positions = new Map<string, bigint>();
  /** By topic and partition, which share it takes of what a batch there may have. */
  readonly #shares = new Map<string, number>();
  #bytes = 0;
  #units = 0;
  #soleMessage: { topic: string; offset: bigint } | null = null;
  #isFull = false;
  #phaseUntilMs = Infinity;
  #isPhaseNew = true;
  #isCutShort = false;
  #isWanted = false;
  /** For the metrics: counted once it is committed, for a transaction that fails is made again. */
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
    return this.#bytes === 0 && this.#positions.size === 0 && !this.#isWanted;
  }

  /** Nothing was handled, whether or not it led to a record. */
  isUntouched(): boolean {
    return this.#units === 0;
  }

  /** Its bytes and units are used up: what else there is waits for the next transaction. */
  isFull(): boolean {
    return this.#isFull || this.#units >= this.#options.unitsMax;
  }

  /** What has happened, what is due and what has come in: each has a phase of every filling, and gets on by one at least. */
  beginPhase(untilMonotonicMs: number): void {
    this.#phaseUntilMs = untilMonotonicMs;
    this.#isPhaseNew = true;
  }

  /** Asked before each. What else there is waits for the next filling, of this transaction or of the next one. */
  mayTake(monotonicMs: number): boolean {
    if (this.isFull()) return false;
    const mayTake = this.#isPhaseNew || monotonicMs < this.#phaseUntilMs;
    this.#isPhaseNew = false;
    if (!mayTake) this.#isCutShort = true;
    return mayTake;
  }

  /** There may be more that could be taken: time was too short for it, or its units are used up. */
  isCutShort(): boolean {
    return this.#isCutShort || this.isFull();
  }

  /** To be committed though nothing happened: the position is written again. */
  want(): void {
    this.#isWanted = true;
  }

  /**
   * All that one message, answer, entry or submission leads to is in it.
   * @param message that it was about, if any
   */
  unitDone(message: { topic: string; offset: bigint } | null = null): void {
    this.#units += 1;
    this.#soleMessage = this.#units === 1 ? message : null;
  }

  /** The one message that it is about; null where it is about more, or none. */
  soleMessage(): { topic: string; offset: bigint } | null {
    return this.#soleMessage;
  }

  /** @throws what keeps the entry from being written; then nothing has changed */
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
   * Nothing is taken any more: it could be about what is forgotten.
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

  /** @param suspect null: the mark of before is cleared */
  mark(suspect: Suspect | null): void {
    this.add(this.#ledger(SUSPECT_KEY, encodeSuspect(suspect)));
  }

  moveTo(topic: string, position: bigint): void {
    this.#positions.set(topic, position);
  }

  /** Entries as they are at the end of this transaction. */
  entries(): Entry[] {
    return [...this.#entries.values()].map(({ value }) => value);
  }

  /**
   * Everything to be written; the position record last, so that whoever has read it has read the commit.
   * @param next offsets of all input topics behind this transaction
   */
  toCommit(owner: Pick<PositionRecord, 'token' | 'topicIds'>, next: ReadonlyMap<string, bigint>): LaneCommit {
    const { commit, lane } = this.#options;
    const position = encodePosition({ ...owner, commit, next: Object.fromEntries(next) });
    const records = [
      ...this.#records,
      ...[...this.#entries.values()].map(({ record }) => record),
      ...this.#transactions.values(),
      ...this.#tombstones.values(),
      this.#ledger(POSITION_KEY, position),
    ];
    return { lane, records, shares: this.#shares, bytes: this.#bytes };
  }

  /** Offsets behind the messages that it is about, by topic. */
  positions(): ReadonlyMap<string, bigint> {
    return this.#positions;
  }

  /** What is put twice counts twice, though the last alone is written. */
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

/** Of what is left, at least half remains for those that come after. */
export function halfwayMs(nowMs: number, untilMs: number): number {
  return nowMs + (untilMs - nowMs) / 2;
}

/** At most what it takes in a batch that is not compressed. */
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
