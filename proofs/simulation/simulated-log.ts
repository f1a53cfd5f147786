/**
 * One partition of a topic, as the broker keeps it: records, control records, open transactions, low offset. Compaction and
 * deletion remove records. Offsets are reused only if a new leader lacks the last records.
 */
export interface BrokerTransaction {
  readonly transactionalId: string;
  readonly epoch: number;
  outcome: 'committed' | 'aborted' | null;
}

/** In the order written; a name may occur twice, and a value may be missing. */
export type StoredHeaders = readonly (readonly [name: string, value: Buffer | null])[];

export interface StoredRecord {
  readonly offset: number;
  /** By the broker's clock or the producer's, depending on the topic. */
  readonly timestampMs: number;
  /** When it was written. */
  readonly writtenMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: StoredHeaders;
  readonly transaction: BrokerTransaction | null;
  /** The marker of a transaction's end. */
  readonly isControl: boolean;
  /** The epoch of the leader at that time. */
  readonly leaderEpoch: number;
}

export type NewRecord = Pick<StoredRecord, 'key' | 'value' | 'headers'> & {
  /** The producer's time; ignored if the topic uses the broker's. */
  readonly timestampMs: number;
};

/**
 * How long a segment stays open, so that compaction skips it. Longer than a reader's lag in a history; with real brokers it
 * is an hour.
 */
const OPEN_MS = 26_000;

export class SimulatedLog {
  /** Everything that was ever written. */
  readonly all: StoredRecord[] = [];
  #kept: StoredRecord[] = [];
  #low = 0;
  /** First offsets of leaders. */
  #epochs = [{ epoch: 0, from: 0 }];
  /** First offset of each transaction that has no marker here yet. */
  readonly #open = new Map<BrokerTransaction, number>();
  /** When compaction may remove a tombstone or marker, by offset; set when compaction first sees it. */
  readonly #horizons = new Map<number, number>();
  #waiting: { offset: number; wake: () => void }[] = [];

  append(record: NewRecord, writtenMs: number, transaction: BrokerTransaction | null): number {
    const offset = this.all.length;
    this.#write({ ...record, timestampMs: Math.floor(record.timestampMs), transaction, isControl: false }, writtenMs);
    if (transaction !== null && !this.#open.has(transaction)) this.#open.set(transaction, offset);
    this.#announce();
    return offset;
  }

  /** Writes the marker, after which readers get the transaction's records or skip them. */
  end(transaction: BrokerTransaction, writtenMs: number): void {
    const timestampMs = Math.floor(writtenMs);
    this.#write({ key: null, value: null, headers: [], timestampMs, transaction, isControl: true }, writtenMs);
    this.#open.delete(transaction);
    this.#announce();
  }

  /** The first offset that is not deleted; equals the next offset if the log is empty. */
  lowOffset(): number {
    return this.#low;
  }

  /** The offset after the last record, whether or not readers may read it. */
  nextOffset(): number {
    return this.all.length;
  }

  /** Offset below which readers of committed records may read. */
  lastStableOffset(): number {
    return this.#open.size === 0 ? this.all.length : Math.min(...this.#open.values());
  }

  /** @param end where the new leader's log ends: if it was not in sync, the records from there on are lost */
  newLeader(end = this.all.length): void {
    const epoch = this.#leader().epoch + 1;
    this.#epochs = [...this.#epochs.filter(({ from }) => from < end), { epoch, from: end }];
    this.all.splice(end);
    this.#kept = this.#kept.filter(({ offset }) => offset < end);
    for (const [transaction, first] of this.#open) if (first >= end) this.#open.delete(transaction);
    this.#announce();
  }

  /** @returns the offset after the epoch's last record or, if it has none, the previous epoch's; -1: the epoch is too new */
  epochEnd(epoch: number): number {
    if (epoch === this.#leader().epoch) return this.all.length;
    return this.#epochs.find((next) => next.epoch > epoch)?.from ?? -1;
  }

  isInRange(offset: number): boolean {
    return offset >= this.#low && offset <= this.all.length;
  }

  /** Wakes once, when the offset is readable, has later records, or is out of range. @returns a function that cancels */
  whenReadable(offset: number, wake: () => void): () => void {
    if (this.#isReadable(offset)) {
      wake();
      return () => undefined;
    }
    const waiting = { offset, wake };
    this.#waiting.push(waiting);
    return () => void (this.#waiting = this.#waiting.filter((other) => other !== waiting));
  }

  /** Records from the offset on, control and aborted ones included; compacted ones are missing. */
  read(offset: number, countMax: number): StoredRecord[] {
    const first = this.#indexFrom(offset);
    const stable = this.lastStableOffset();
    return this.#kept.slice(first, first + countMax).filter((record) => record.offset < stable);
  }

  /** What a reader of committed records would have read, had it never lagged behind. */
  committed(): StoredRecord[] {
    const stable = this.lastStableOffset();
    return this.all.filter((record) => record.offset < stable && isForReaders(record));
  }

  /** @returns the offset of the first record whose timestamp is not before the instant, or null */
  offsetAt(timestampMs: number): number | null {
    return this.#kept.find((record) => record.timestampMs >= timestampMs)?.offset ?? null;
  }

  /** Removes all records before the offset, as retention and `deleteRecords` do. */
  deleteBefore(offset: number): void {
    this.#low = Math.max(this.#low, Math.min(offset, this.lastStableOffset()));
    this.#kept = this.#kept.filter((record) => record.offset >= this.#low);
    this.#announce();
  }

  /** Removes superseded and aborted records and, after a while, tombstones and markers. The open segment does not change. */
  compact(nowMs: number, deleteRetentionMs: number): void {
    const openFrom = this.#kept.find(({ writtenMs }) => writtenMs > nowMs - OPEN_MS)?.offset ?? this.all.length - 1;
    const end = Math.min(this.lastStableOffset(), openFrom);
    const latest = new Map<string, number>();
    const cleaned = this.#kept.filter(({ offset }) => offset < end);
    for (const record of cleaned)
      if (isForReaders(record)) latest.set(record.key?.toString('latin1') ?? '', record.offset);
    const isOver = (offset: number): boolean => {
      const horizonMs = this.#horizons.get(offset) ?? nowMs + deleteRetentionMs;
      this.#horizons.set(offset, horizonMs);
      return nowMs > horizonMs;
    };
    const kept = cleaned.filter((record) => {
      if (record.isControl) return !isOver(record.offset);
      if (!isForReaders(record) || latest.get(record.key?.toString('latin1') ?? '') !== record.offset) return false;
      return record.value !== null || !isOver(record.offset);
    });
    this.#kept = [...kept, ...this.#kept.slice(cleaned.length)];
  }

  /** Wakes all waiting readers of a deleted topic, so that they notice. */
  close(): void {
    for (const { wake } of this.#waiting.splice(0)) wake();
  }

  #write(record: Omit<StoredRecord, 'offset' | 'writtenMs' | 'leaderEpoch'>, writtenMs: number): void {
    const stored = { ...record, offset: this.all.length, writtenMs, leaderEpoch: this.#leader().epoch };
    this.all.push(stored);
    this.#kept.push(stored);
  }

  #leader(): { epoch: number; from: number } {
    return this.#epochs.at(-1) ?? { epoch: 0, from: 0 };
  }

  #indexFrom(offset: number): number {
    let least = 0;
    let most = this.#kept.length;
    while (least < most) {
      const middle = (least + most) >> 1;
      if ((this.#kept[middle]?.offset ?? 0) < offset) least = middle + 1;
      else most = middle;
    }
    return least;
  }

  #isReadable(offset: number): boolean {
    if (!this.isInRange(offset)) return true;
    const next = this.#kept[this.#indexFrom(offset)];
    return next !== undefined && next.offset < this.lastStableOffset();
  }

  #announce(): void {
    if (this.#waiting.length === 0) return;
    const woken = this.#waiting.filter(({ offset }) => this.#isReadable(offset));
    if (woken.length === 0) return;
    this.#waiting = this.#waiting.filter((waiting) => !woken.includes(waiting));
    for (const { wake } of woken) wake();
  }
}

export function isForReaders({ isControl, transaction }: StoredRecord): boolean {
  return !isControl && (transaction === null || transaction.outcome === 'committed');
}

/** @returns the first value of the name, as text */
export function headerText({ headers }: Pick<StoredRecord, 'headers'>, name: string): string | null {
  return headers.find(([other]) => other === name)?.[1]?.toString() ?? null;
}

/** Size of a batch with these records, about as the broker counts it. */
export function batchBytes(records: readonly NewRecord[]): number {
  const BATCH_BYTES = 61;
  const RECORD_BYTES = 10;
  const HEADER_BYTES = 3;
  return records.reduce((sum, { headers, key, value }) => {
    const headerBytes = headers.reduce(
      (bytes, [name, text]) => bytes + HEADER_BYTES + name.length + (text?.length ?? 0),
      0,
    );
    return sum + RECORD_BYTES + (key?.length ?? 0) + (value?.length ?? 0) + headerBytes;
  }, BATCH_BYTES);
}
