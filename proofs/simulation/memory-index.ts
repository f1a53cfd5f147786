/** The ledger's index in memory, because the real store's native threads ignore virtual time. Views for people are empty. */
import type { Entry } from '../../src/ledger/entry.ts';
import type {
  Checkpoint,
  LedgerRecord,
  LedgerTimes,
  UnknownResult,
  UnknownResults,
} from '../../src/store/ledger-index.ts';
import { laterMs } from '../../src/store/lane-store.ts';
import type { LmdbLedgerIndex, OpenedStore, StoreIdentity } from '../../src/store/lmdb-ledger-index.ts';
import { decodeEntry } from '../../src/ledger/entry-record.ts';
import {
  CLAIM_PREFIX,
  decodeClaim,
  ownerRecords,
  positionRecords,
  ENTRY_PREFIX,
  OWNER_KEY,
  POSITION_KEY,
  TRANSACTION_PREFIX,
  type Claim,
  type OwnerRecord,
  type PositionRecord,
} from '../../src/ledger/ledger-records.ts';
import { headOf, learnSchema, VALUE_CLASS } from '../../src/ledger/ledger-value.ts';

interface Lane {
  readonly values: Map<string, Buffer>;
  /** When brokers wrote them. */
  readonly writtenMs: Map<string, number>;
  checkpoint: Checkpoint;
}

const EMPTY: Checkpoint = { nextOffset: 0n, timestampMs: 0, appliedMs: 0 };

export class MemoryIndex implements Pick<LmdbLedgerIndex, keyof LmdbLedgerIndex> {
  readonly #lanes: readonly Lane[];
  #topicId: string | null | undefined;

  constructor(laneCount: number) {
    this.#lanes = Array.from({ length: laneCount }, () => ({
      values: new Map<string, Buffer>(),
      writtenMs: new Map<string, number>(),
      checkpoint: EMPTY,
    }));
  }

  async open({ topicId }: Pick<StoreIdentity, 'topicId'>): Promise<OpenedStore> {
    const isOther = this.#topicId !== undefined && this.#topicId !== topicId;
    this.#topicId = topicId;
    if (isOther) for (const lane of this.#lanes.keys()) this.forgetLane(lane);
    return { folder: 'memory', rebuiltBecause: isOther ? 'it belongs to another ledger' : null };
  }

  async close(): Promise<void> {
    // The content outlives the process, as on a disk.
  }

  isOpen(): boolean {
    return true;
  }

  forgetLane(lane: number): void {
    this.#lane(lane).values.clear();
    this.#lane(lane).writtenMs.clear();
    this.#lane(lane).checkpoint = EMPTY;
  }

  applyBatch(lane: number, records: readonly LedgerRecord[], nextOffset: bigint): void {
    const { values, writtenMs } = this.#lane(lane);
    let { timestampMs } = this.#lane(lane).checkpoint;
    for (const record of records) {
      timestampMs = Math.max(timestampMs, record.timestampMs);
      if (record.value === null) values.delete(record.key);
      else values.set(record.key, record.value);
      if (record.value !== null) headOf(record.value);
      learnSchema(record.value);
      writtenMs.set(record.key, record.timestampMs);
    }
    this.#lane(lane).checkpoint = { nextOffset, timestampMs, appliedMs: Date.now() };
  }

  checkpoint(lane: number): Checkpoint {
    return this.#lane(lane).checkpoint;
  }

  entry(lane: number, key: string): Entry | undefined {
    const value = this.value(lane, ENTRY_PREFIX + key);
    return value === undefined ? undefined : decodeEntry(value);
  }

  value(lane: number, key: string): Buffer | undefined {
    return this.#lane(lane).values.get(key);
  }

  unfinished(lane: number): Entry[] {
    const values = [...this.#lane(lane).values.values()];
    return values.filter((value) => headOf(value).valueClass === VALUE_CLASS.unfinished).map(decodeEntry);
  }

  *transactions(lane: number): Iterable<Buffer[]> {
    for (const [key, value] of this.#lane(lane).values) if (key.startsWith(TRANSACTION_PREFIX)) yield [value];
  }

  owner(lane: number): OwnerRecord | undefined {
    const value = this.value(lane, OWNER_KEY);
    return value === undefined ? undefined : ownerRecords.decode(value);
  }

  claims(lane: number): Claim[] {
    return [...this.#lane(lane).values]
      .filter(([key]) => key.startsWith(CLAIM_PREFIX))
      .map(([key, value]) => decodeClaim(key, value));
  }

  position(lane: number): PositionRecord | undefined {
    const value = this.value(lane, POSITION_KEY);
    return value === undefined ? undefined : positionRecords.decode(value);
  }

  expired(lane: number, before: LedgerTimes, limit: number): string[] {
    const expired: string[] = [];
    const { values, writtenMs } = this.#lane(lane);
    for (const [key, value] of values) {
      if (expired.length >= limit) break;
      if (isExpired(value, writtenMs.get(key) ?? 0, before)) expired.push(key);
    }
    return expired;
  }

  /** A copy for a disk that is detached now and returns later. */
  copy(): MemoryIndex {
    const copy = new MemoryIndex(this.#lanes.length);
    this.#lanes.forEach(({ checkpoint, values, writtenMs }, number) => {
      const lane = copy.#lane(number);
      for (const [key, value] of values) lane.values.set(key, value);
      for (const [key, atMs] of writtenMs) lane.writtenMs.set(key, atMs);
      lane.checkpoint = checkpoint;
    });
    return copy;
  }

  unknown(): UnknownResults[] {
    return [];
  }

  oldestUnknown(): UnknownResult[] {
    return [];
  }

  disk(): null {
    return null;
  }

  size(): number {
    return this.#lanes.reduce((sum, { values }) => sum + values.size, 0);
  }

  #lane(lane: number): Lane {
    const found = this.#lanes[lane];
    if (found === undefined) throw new Error(`lane ${lane} is not one of ${this.#lanes.length}`);
    return found;
  }
}

function isExpired(value: Buffer, writtenMs: number, before: LedgerTimes): boolean {
  const { timeMs, valueClass } = headOf(value);
  if (valueClass === VALUE_CLASS.done) return laterMs(timeMs, writtenMs) < before.doneMs;
  return valueClass === VALUE_CLASS.transaction && laterMs(timeMs, writtenMs) < before.transactionMs;
}
