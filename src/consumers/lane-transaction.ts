/** One transaction of a lane in the making: what is to be written, and what to do once it is committed. */
import {
  encodeEntry,
  encodePosition,
  ENTRY_PREFIX,
  POSITION_KEY,
  TRANSACTION_PREFIX,
  type PositionRecord,
} from '../ledger/ledger-records.ts';
import type { Entry } from '../ledger/entry.ts';
import type { GroupOffsets, OutgoingRecord } from '../producers/lane-producer.ts';
import { encodeTransactionState, type TransactionState } from '../status/transaction-state.ts';

/**
 * From here on a transaction takes no more. The topics take batches of 4 MiB, and what is taken last may be large: a
 * body of the service at its limit, as entry, result and observation.
 */
const BYTES_MAX = 1024 * 1024;
/** An entry or state without its command and result. */
const ENTRY_BYTES = 800;
const TOMBSTONE_BYTES = 100;

export class LaneTransaction {
  readonly #ledgerTopic: string;
  readonly #lane: number;
  /** Last state of each entry and transaction: what came between is nobody's business. */
  readonly #entries = new Map<string, Entry>();
  readonly #transactions = new Map<string, TransactionState>();
  readonly #records: OutgoingRecord[] = [];
  /** Ledger keys to be forgotten. */
  readonly #tombstones = new Set<string>();
  readonly #positions = new Map<string, bigint>();
  #isPositionWanted = false;
  /** About what will be written; never less than the largest batch of one partition. */
  #bytes = 0;
  /** For the metrics: counted once it is committed, for a transaction that fails is made again. */
  readonly reports: (() => void)[] = [];
  /** Attempts whose answers this transaction makes durable. */
  readonly settledAttempts: string[] = [];

  constructor(ledgerTopic: string, lane: number) {
    this.#ledgerTopic = ledgerTopic;
    this.#lane = lane;
  }

  isEmpty(): boolean {
    return (
      !this.#isPositionWanted &&
      this.#entries.size === 0 &&
      this.#transactions.size === 0 &&
      this.#tombstones.size === 0 &&
      this.#records.length === 0 &&
      this.#positions.size === 0
    );
  }

  /** What else there is waits for the next transaction. */
  isFull(): boolean {
    return this.#bytes >= BYTES_MAX;
  }

  putEntry(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    const resultBytes = entry.phase.state === 'DONE' ? entry.phase.result.value.length : 0;
    this.#bytes += ENTRY_BYTES + (entry.fieldsJson?.length ?? 0) + Math.ceil((resultBytes * 4) / 3);
  }

  putTransaction(state: TransactionState): void {
    this.#transactions.set(state.id, state);
    this.#bytes += ENTRY_BYTES;
  }

  /** @param ledgerKey of a record that this transaction does not write */
  forget(ledgerKey: string): void {
    this.#tombstones.add(ledgerKey);
    this.#bytes += TOMBSTONE_BYTES;
  }

  add(...records: OutgoingRecord[]): void {
    this.#records.push(...records);
    for (const record of records) this.#bytes += record.value?.length ?? 0;
  }

  /** The position record is committed even if nothing else is. */
  wantPosition(): void {
    this.#isPositionWanted = true;
  }

  moveTo(topic: string, position: bigint): void {
    this.#positions.set(topic, position);
  }

  /** Entries as they are at the end of this transaction. */
  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  /**
   * Everything to be written; the position record last, so that whoever has read it has read the commit.
   * @param next offsets of all input topics before this transaction
   */
  records(owner: Omit<PositionRecord, 'next'>, next: ReadonlyMap<string, bigint>): OutgoingRecord[] {
    const position = encodePosition({ ...owner, next: Object.fromEntries([...next, ...this.#positions]) });
    return [
      ...this.#records,
      ...[...this.#entries.values()].map((entry) =>
        this.#ledger(ENTRY_PREFIX + entry.key, encodeEntry(entry), { state: entry.phase.state }),
      ),
      ...[...this.#transactions.values()].map((state) =>
        this.#ledger(TRANSACTION_PREFIX + state.id, encodeTransactionState(state), {}),
      ),
      ...[...this.#tombstones].map((ledgerKey) => this.#ledger(ledgerKey, null, {})),
      this.#ledger(POSITION_KEY, position, {}),
    ];
  }

  /** For lag tools; never read back. */
  groupOffsets(): GroupOffsets[] {
    return [...this.#positions].map(([topic, offset]) => ({ topic, partition: this.#lane, offset }));
  }

  positions(): ReadonlyMap<string, bigint> {
    return this.#positions;
  }

  #ledger(key: string, value: Buffer | null, headers: Record<string, string>): OutgoingRecord {
    return { topic: this.#ledgerTopic, partition: this.#lane, key, value, headers };
  }
}
