/** One partition of a topic, as the broker keeps it: records, control records, and which transactions are open in it. */
export interface BrokerTransaction {
  readonly transactionalId: string;
  readonly epoch: number;
  outcome: 'committed' | 'aborted' | null;
}

export interface StoredRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer>>;
  readonly transaction: BrokerTransaction | null;
  /** The marker of a transaction's end. */
  readonly isControl: boolean;
}

export type NewRecord = Pick<StoredRecord, 'key' | 'value' | 'headers'>;

export class SimulatedLog {
  readonly records: StoredRecord[] = [];
  /** First offset of each transaction that has no marker here yet. */
  readonly #open = new Map<BrokerTransaction, number>();
  #waiting: { offset: number; wake: () => void }[] = [];

  append(record: NewRecord, timestampMs: number, transaction: BrokerTransaction | null): number {
    const offset = this.records.length;
    this.records.push({ ...record, offset, timestampMs: Math.floor(timestampMs), transaction, isControl: false });
    if (transaction !== null && !this.#open.has(transaction)) this.#open.set(transaction, offset);
    this.#announce();
    return offset;
  }

  /** Writes the marker: from here on the transaction's records can be read, or are passed over. */
  end(transaction: BrokerTransaction, timestampMs: number): void {
    const control = { key: null, value: null, headers: {}, transaction, isControl: true };
    this.records.push({ ...control, offset: this.records.length, timestampMs: Math.floor(timestampMs) });
    this.#open.delete(transaction);
    this.#announce();
  }

  /** Offset below which readers of committed records may read. */
  lastStableOffset(): number {
    return Math.min(this.records.length, ...this.#open.values());
  }

  /** Wakes once when there is something to read at the offset. @returns what takes the wish back */
  whenReadable(offset: number, wake: () => void): () => void {
    if (this.lastStableOffset() > offset) {
      wake();
      return () => undefined;
    }
    const waiting = { offset, wake };
    this.#waiting.push(waiting);
    return () => void (this.#waiting = this.#waiting.filter((other) => other !== waiting));
  }

  /** Records from the offset on, control and aborted ones included. */
  read(offset: number, countMax: number): StoredRecord[] {
    return this.records.slice(offset, Math.min(this.lastStableOffset(), offset + countMax));
  }

  /** What readers of committed records find. */
  committed(): StoredRecord[] {
    return this.read(0, this.records.length).filter(isForReaders);
  }

  #announce(): void {
    const stable = this.lastStableOffset();
    const woken = this.#waiting.filter(({ offset }) => offset < stable);
    if (woken.length === 0) return;
    this.#waiting = this.#waiting.filter(({ offset }) => offset >= stable);
    for (const { wake } of woken) wake();
  }
}

export function isForReaders({ isControl, transaction }: StoredRecord): boolean {
  return !isControl && (transaction === null || transaction.outcome === 'committed');
}
