/**
 * One lane of the local store. It keeps values as they are in the ledger; their headers say all that it needs to know.
 *
 *   applied  in memory, where reads see it; only the last record of each key
 *   written  together with other lanes, in one transaction of the store; then no longer in memory
 *
 *   rows     place -> row, in the order in which rows may be forgotten (stored-row.ts)
 *   places   hash of the ledger key -> place
 *   head     the offset up to which the ledger has been applied, and counts; in one table for all lanes
 *
 * When a transaction fails, memory is ahead of the tables: the store must not be used any more.
 */
import { hash } from 'node:crypto';
import type { Database } from 'lmdb';
import { decodeEntry } from '../ledger/entry-record.ts';
import type { Entry } from '../ledger/entry.ts';
import { ENTRY_PREFIX, TRANSACTION_PREFIX } from '../ledger/ledger-records.ts';
import {
  headOf,
  isEntryClass,
  learnSchema,
  unknownCommandOf,
  VALUE_CLASS,
  type ValueClass,
} from '../ledger/ledger-value.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import type { LedgerRecord, LedgerTimes, UnknownResult, UnknownResults } from './ledger-index.ts';
import { classOfPlace, placeOf, readRow, rowOf, timeOfPlace, type Row } from './stored-row.ts';

export type Table = Database<Buffer, Buffer>;

export interface LaneTables {
  readonly rows: Table;
  readonly places: Table;
  readonly heads: Table;
}

/** The last record of a key, not written yet. */
interface Pending {
  /** Null: a tombstone. */
  readonly value: Buffer | null;
  readonly place: Buffer | null;
}

interface Head {
  /** Everything before this offset has been applied. */
  readonly next: bigint;
  /** The latest of the records' timestamps. */
  readonly timestampMs: number;
  /** When records were last applied, by our clock. */
  readonly appliedMs: number;
  /** Entries remembered. */
  readonly commands: number;
  /** UNKNOWN results among them, by command; commands without any are left out. */
  readonly unknown: Readonly<Partial<Record<CommandType, number>>>;
}

const EMPTY_HEAD: Head = { next: 0n, timestampMs: 0, appliedMs: 0, commands: 0, unknown: {} };
/** Half of a SHA-256: two keys of one lane never collide. */
const KEY_HASH_BYTES = 16;
/** Rows read at a time, which takes a few milliseconds. */
const GROUP_ROWS = 200;
/** Sorts before every place. */
const NOWHERE = Buffer.alloc(0);

export class LaneStore {
  readonly #tables: LaneTables;
  readonly #headKey: Buffer;
  readonly #pending = new Map<string, Pending>();
  /** Bytes of pending values. */
  #pendingBytes = 0;
  /** Claim records, by ledger key. */
  readonly #claims = new Map<string, Buffer>();
  /** By place, because a changed entry gets another place. */
  #unfinished = new Map<string, Entry>();
  #head: Head;
  #isWritten = true;
  /** The last place of all rows: a later place is appended, so that pages fill up. */
  #lastPlace: Buffer;

  /** @throws Error for a damaged row */
  constructor(tables: LaneTables, lane: number) {
    this.#tables = tables;
    this.#headKey = Buffer.from(`lane-${lane}`);
    this.#head = decodeHead(tables.heads.get(this.#headKey));
    this.#lastPlace = lastOf(tables.rows);
    for (const { value } of this.#rows(VALUE_CLASS.schema)) learnSchema(value);
    for (const { ledgerKey, value } of this.#rows(VALUE_CLASS.claim)) this.#claims.set(ledgerKey, Buffer.from(value));
  }

  head(): Head {
    return this.#head;
  }

  isWritten(): boolean {
    return this.#isWritten;
  }

  /** Applied but not yet written. */
  pending(): { records: number; bytes: number } {
    return { records: this.#pending.size, bytes: this.#pendingBytes };
  }

  /**
   * Takes records in the order of the ledger.
   * @throws LedgerFormatError for a value of a JSON ledger: earlier records stay pending, and the offset does not move
   */
  apply(records: readonly LedgerRecord[], nextOffset: bigint, appliedMs: number): void {
    let { timestampMs } = this.#head;
    for (const { key, offset, timestampMs: writtenMs, value } of records) {
      timestampMs = Math.max(timestampMs, writtenMs);
      const head = value === null ? null : headOf(value);
      learnSchema(value);
      if (value !== null && head?.valueClass === VALUE_CLASS.claim) this.#claims.set(key, value);
      else this.#claims.delete(key);
      const place = head === null ? null : placeOf(head.valueClass, filedMs(head, writtenMs), offset);
      this.#pendingBytes += (value?.length ?? 0) - (this.#pending.get(key)?.value?.length ?? 0);
      this.#pending.set(key, { value, place });
    }
    this.#head = { ...this.#head, next: nextOffset, timestampMs, appliedMs };
    this.#isWritten = false;
  }

  /** Writes into the tables, in a transaction of the caller. The caller calls `written` once it is committed. */
  write(): void {
    const { heads, places, rows } = this.#tables;
    const unknown: Partial<Record<CommandType, number>> = { ...this.#head.unknown };
    let { commands } = this.#head;
    const count = (place: Buffer, change: 1 | -1): void => {
      const valueClass = classOfPlace(place);
      if (isEntryClass(valueClass)) commands += change;
      const command = unknownCommandOf(valueClass);
      if (command !== null) unknown[command] = (unknown[command] ?? 0) + change;
    };
    for (const [ledgerKey, { place, value }] of this.#pending) {
      const keyHash = hashOf(ledgerKey);
      const before = places.get(keyHash);
      if (before !== undefined) {
        count(before, -1);
        rows.removeSync(before);
      }
      if (value !== null && place !== null) {
        count(place, 1);
        const append = place.compare(this.#lastPlace) > 0;
        if (append) this.#lastPlace = place;
        rows.putSync(place, rowOf(ledgerKey, value), { append });
        places.putSync(keyHash, place);
      } else if (before !== undefined) places.removeSync(keyHash);
    }
    const present = Object.fromEntries(Object.entries(unknown).filter(([, number]) => number > 0)) as Head['unknown'];
    this.#head = { ...this.#head, commands, unknown: present };
    heads.putSync(this.#headKey, encodeHead(this.#head));
  }

  /** The transaction was committed: reads now use the tables. */
  written(): void {
    this.#pending.clear();
    this.#pendingBytes = 0;
    this.#isWritten = true;
  }

  /** In a transaction of the caller. */
  forget(): void {
    this.#tables.rows.clearSync();
    this.#tables.places.clearSync();
    this.#tables.heads.removeSync(this.#headKey);
    this.#claims.clear();
    this.#unfinished.clear();
    this.#lastPlace = NOWHERE;
    this.#head = EMPTY_HEAD;
    this.written();
  }

  entry(key: string): Entry | undefined {
    const value = this.value(ENTRY_PREFIX + key);
    return value === undefined ? undefined : decodeEntry(value);
  }

  /** The last applied value of the key, written or not. */
  value(ledgerKey: string): Buffer | undefined {
    const pending = this.#pending.get(ledgerKey);
    if (pending !== undefined) return pending.value ?? undefined;
    const place = this.#tables.places.get(hashOf(ledgerKey));
    return place === undefined ? undefined : this.#rowAt(place).value;
  }

  claims(): ReadonlyMap<string, Buffer> {
    return this.#claims;
  }

  // The methods below read only the tables: the caller must have pending records written first.

  /** Returns the same object for an entry that has not changed since the last call. */
  unfinished(): Entry[] {
    const previous = this.#unfinished;
    this.#unfinished = new Map();
    for (const { key, value } of this.#tables.rows.getRange(rangeOf(VALUE_CLASS.unfinished))) {
      const place = key.toString('latin1');
      this.#unfinished.set(place, previous.get(place) ?? decodeEntry(readRow(value).value));
    }
    return [...this.#unfinished.values()];
  }

  /** Yields a group at a time; may miss states that are written between two groups. */
  *transactions(restingSinceMs: number): Generator<Buffer[], undefined> {
    const resting = {
      ...rangeOf(VALUE_CLASS.transaction),
      start: placeOf(VALUE_CLASS.transaction, restingSinceMs, 0n),
    };
    for (const { start, end } of [rangeOf(VALUE_CLASS.kept), resting]) {
      let from = start;
      for (;;) {
        const rows = [...this.#tables.rows.getRange({ start: from, end, limit: GROUP_ROWS })];
        const last = rows.at(-1);
        if (last === undefined) break;
        // The next possible place: each group reads its own range, so that none pins the store's pages.
        from = Buffer.concat([last.key, Buffer.of(0)]);
        const states = rows.map(({ value }) => readRow(value));
        yield states.filter(({ ledgerKey }) => ledgerKey.startsWith(TRANSACTION_PREFIX)).map(({ value }) => value);
      }
    }
    return undefined;
  }

  /** Number and oldest of the UNKNOWN results, for each command that has any. Reads only the first place of each. */
  unknown(): UnknownResults[] {
    return COMMAND_TYPES.flatMap((command) => {
      const count = this.#head.unknown[command] ?? 0;
      const [oldest] = count === 0 ? [] : this.#unknownPlaces(command, 1);
      return oldest === undefined ? [] : [{ command, count, oldestMs: timeOfPlace(oldest) }];
    });
  }

  /** The oldest UNKNOWN results, oldest first, up to the limit. */
  oldestUnknown(limit: number): UnknownResult[] {
    const places = COMMAND_TYPES.filter((command) => this.#head.unknown[command] !== undefined).flatMap((command) =>
      this.#unknownPlaces(command, limit).map((place) => ({ place, command, completedMs: timeOfPlace(place) })),
    );
    places.sort((left, right) => left.completedMs - right.completedMs);
    return places.slice(0, limit).map(({ place, command, completedMs }) => {
      return { key: this.#rowAt(place).ledgerKey.slice(ENTRY_PREFIX.length), command, completedMs };
    });
  }

  /** Keys of rows older than the given times: done entries (never UNKNOWN), then resting transactions; oldest first. */
  expired(before: LedgerTimes, limit: number): string[] {
    const keysOf = (valueClass: ValueClass, beforeMs: number, count: number): string[] =>
      this.#rows(valueClass, { end: placeOf(valueClass, beforeMs, 0n), limit: count }).map(
        ({ ledgerKey }) => ledgerKey,
      );
    const done = keysOf(VALUE_CLASS.done, before.doneMs, limit);
    if (done.length === limit) return done;
    return [...done, ...keysOf(VALUE_CLASS.transaction, before.transactionMs, limit - done.length)];
  }

  #unknownPlaces(command: CommandType, limit: number): Buffer[] {
    const places = this.#tables.rows.getKeys({ ...rangeOf(VALUE_CLASS.unknown[command]), limit });
    return Array.from(places, (place) => Buffer.from(place));
  }

  #rows(valueClass: ValueClass, bounds: { end?: Buffer; limit?: number } = {}): Row[] {
    const found = this.#tables.rows.getRange({ ...rangeOf(valueClass), ...bounds });
    return Array.from(found, ({ value }) => readRow(value));
  }

  #rowAt(place: Buffer): Row {
    const stored = this.#tables.rows.get(place);
    if (stored === undefined) throw new Error('the local store is damaged: a key points to a row that is missing');
    return readRow(stored);
  }
}

/**
 * The time under which a row is filed. A row that may be forgotten takes the later of two times, the process's and the broker's,
 * because either clock may be slow.
 */
function filedMs({ timeMs, valueClass }: { timeMs: number; valueClass: ValueClass }, writtenMs: number): number {
  const mayBeForgotten = valueClass === VALUE_CLASS.done || valueClass === VALUE_CLASS.transaction;
  return mayBeForgotten ? laterMs(timeMs, writtenMs) : timeMs;
}

export function laterMs(ownMs: number, writtenMs: number): number {
  return Math.max(ownMs, writtenMs);
}

function lastOf(table: Table): Buffer {
  for (const { key } of table.getRange({ reverse: true, limit: 1 })) return Buffer.from(key);
  return NOWHERE;
}

function hashOf(ledgerKey: string): Buffer {
  return hash('sha256', ledgerKey, 'buffer').subarray(0, KEY_HASH_BYTES);
}

function rangeOf(valueClass: ValueClass): { start: Buffer; end: Buffer } {
  return { start: Buffer.of(valueClass), end: Buffer.of(valueClass + 1) };
}

function encodeHead(head: Head): Buffer {
  return Buffer.from(JSON.stringify({ ...head, next: head.next.toString() }));
}

function decodeHead(value: Buffer | undefined): Head {
  if (value === undefined) return EMPTY_HEAD;
  const plain = JSON.parse(value.toString()) as Omit<Head, 'next'> & { next: string };
  return { ...plain, next: BigInt(plain.next) };
}
