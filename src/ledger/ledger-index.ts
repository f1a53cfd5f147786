/**
 * What the ledger topic says, lane by lane: fed by the ledger reader with every record in order, read by lanes when
 * they are acquired and when a key arrives that they do not hold themselves.
 *
 * This one is in memory; the interface does not say so. Values stay as bytes until somebody asks for them.
 */
import {
  decodeEntry,
  decodeOwner,
  decodePosition,
  ENTRY_PREFIX,
  OWNER_KEY,
  POSITION_KEY,
  type OwnerRecord,
  type PositionRecord,
} from './ledger-records.ts';
import type { Entry, EntryState } from './entry.ts';

export interface LedgerIndex {
  /** Takes one record of the topic; a null value is a tombstone. `state` is the record's `state` header, if any. */
  apply(lane: number, key: string, value: Buffer | null, state: string | null): void;
  entry(lane: number, key: string): Entry | undefined;
  /** Any other record of the lane, by its whole key. */
  value(lane: number, key: string): Buffer | undefined;
  unfinished(lane: number): Entry[];
  owner(lane: number): OwnerRecord | undefined;
  position(lane: number): PositionRecord | undefined;
  /** Commands remembered, all lanes. */
  size(): number;
}

interface LaneRecords {
  readonly values: Map<string, Buffer>;
  readonly unfinished: Set<string>;
}

const DONE: EntryState = 'DONE';

export class MemoryLedgerIndex implements LedgerIndex {
  readonly #lanes: LaneRecords[];
  #entries = 0;

  constructor(lanes: number) {
    this.#lanes = Array.from({ length: lanes }, () => ({ values: new Map(), unfinished: new Set() }));
  }

  apply(lane: number, key: string, value: Buffer | null, state: string | null): void {
    const records = this.#records(lane);
    const isEntry = key.startsWith(ENTRY_PREFIX);
    if (isEntry && records.values.has(key) !== (value !== null)) this.#entries += value === null ? -1 : 1;
    if (value === null) records.values.delete(key);
    else records.values.set(key, value);
    if (isEntry && value !== null && state !== DONE) records.unfinished.add(key);
    else records.unfinished.delete(key);
  }

  entry(lane: number, key: string): Entry | undefined {
    const value = this.value(lane, ENTRY_PREFIX + key);
    return value === undefined ? undefined : decodeEntry(value);
  }

  value(lane: number, key: string): Buffer | undefined {
    return this.#records(lane).values.get(key);
  }

  unfinished(lane: number): Entry[] {
    const { values, unfinished } = this.#records(lane);
    return [...unfinished].flatMap((key) => {
      const value = values.get(key);
      return value === undefined ? [] : [decodeEntry(value)];
    });
  }

  owner(lane: number): OwnerRecord | undefined {
    const value = this.value(lane, OWNER_KEY);
    return value === undefined ? undefined : decodeOwner(value);
  }

  position(lane: number): PositionRecord | undefined {
    const value = this.value(lane, POSITION_KEY);
    return value === undefined ? undefined : decodePosition(value);
  }

  size(): number {
    return this.#entries;
  }

  #records(lane: number): LaneRecords {
    const records = this.#lanes[lane];
    if (records === undefined) throw new Error(`lane ${lane} is outside of 0 to ${this.#lanes.length - 1}`);
    return records;
  }
}
