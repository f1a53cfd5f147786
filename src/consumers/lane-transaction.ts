/** One transaction of a lane in the making: what is to be written, and what to do once it is committed. */
import {
  encodeEntry,
  encodePosition,
  ENTRY_PREFIX,
  POSITION_KEY,
  TRANSACTION_PREFIX,
} from '../ledger/ledger-records.ts';
import type { Entry } from '../ledger/entry.ts';
import type { GroupOffsets, OutgoingRecord } from '../producers/lane-producer.ts';
import { encodePlain } from '../records/plain-json.ts';
import type { TransactionState } from '../status/reducer.ts';

export class LaneTransaction {
  readonly #ledgerTopic: string;
  readonly #lane: number;
  /** Last state of each entry and transaction: what came between is nobody's business. */
  readonly #entries = new Map<string, Entry>();
  readonly #transactions = new Map<string, TransactionState>();
  readonly #records: OutgoingRecord[] = [];
  readonly #positions = new Map<string, bigint>();
  /** Attempts whose answers this transaction makes durable. */
  readonly settledAttempts: string[] = [];

  constructor(ledgerTopic: string, lane: number) {
    this.#ledgerTopic = ledgerTopic;
    this.#lane = lane;
  }

  isEmpty(): boolean {
    return (
      this.#entries.size === 0 &&
      this.#transactions.size === 0 &&
      this.#records.length === 0 &&
      this.#positions.size === 0
    );
  }

  putEntry(entry: Entry): void {
    this.#entries.set(entry.key, entry);
  }

  putTransaction(state: TransactionState): void {
    this.#transactions.set(state.id, state);
  }

  add(...records: OutgoingRecord[]): void {
    this.#records.push(...records);
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
  records(owner: { token: string; commit: number }, next: ReadonlyMap<string, bigint>): OutgoingRecord[] {
    const position = encodePosition({ ...owner, next: Object.fromEntries([...next, ...this.#positions]) });
    return [
      ...this.#records,
      ...[...this.#entries.values()].map((entry) =>
        this.#ledger(ENTRY_PREFIX + entry.key, encodeEntry(entry), { state: entry.phase.state }),
      ),
      ...[...this.#transactions.values()].map((state) =>
        this.#ledger(TRANSACTION_PREFIX + state.id, encodePlain(state), {}),
      ),
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

  #ledger(key: string, value: Buffer, headers: Record<string, string>): OutgoingRecord {
    return { topic: this.#ledgerTopic, partition: this.#lane, key, value, headers };
  }
}
