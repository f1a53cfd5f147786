/**
 * One lane of the local store: its tables in LMDB and what of them is also in memory.
 *
 *   unfinished  ledger key -> row: entries that are not done; in memory, too, bounded by MAX_UNFINISHED_PER_LANE
 *   rows        place -> row: every other record, in the order in which it may be forgotten (stored-row.ts)
 *   places      hash of the ledger key -> place
 *   head        the offset up to which the ledger has been applied, owner, claims, position; in a table of all lanes
 *
 * Everything is written inside a transaction of the caller. When one fails, memory is ahead of the tables: the store
 * must not be used any more.
 */
import { hash } from 'node:crypto';
import type { Database } from 'lmdb';
import type { Entry } from '../ledger/entry.ts';
import {
  CLAIM_PREFIX,
  decodeEntry,
  ENTRY_PREFIX,
  LedgerFormatError,
  OWNER_KEY,
  POSITION_KEY,
  TRANSACTION_PREFIX,
} from '../ledger/ledger-records.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import type { LedgerRecord, LedgerTimes, UnknownResult, UnknownResults } from './ledger-index.ts';
import {
  doneRow,
  entryOf,
  placeOf,
  plainRow,
  readRow,
  ROW_CLASS,
  timeOfPlace,
  unknownCommandAt,
  type Row,
  type RowClass,
} from './stored-row.ts';

export type Table = Database<Buffer, Buffer>;

export interface LaneTables {
  readonly rows: Table;
  readonly places: Table;
  readonly unfinished: Table;
  readonly heads: Table;
}

/** Since when a transaction's state is at rest, by its value; null: it must be kept. */
export type RestingSince = (value: Buffer) => number | null;

interface Head {
  /** Everything below has been applied. */
  readonly next: bigint;
  /** The latest of the records' timestamps. */
  readonly timestampMs: number;
  /** When records were applied last, by our clock. */
  readonly appliedMs: number;
  /** Entries remembered. */
  readonly commands: number;
  /** Results UNKNOWN among them; a command without any is left out. */
  readonly unknown: UnknownCounts;
  readonly owner: string | null;
  /** Records by their keys. */
  readonly claims: readonly (readonly [key: string, value: string])[];
  readonly position: string | null;
}

type UnknownCounts = Readonly<Partial<Record<CommandType, number>>>;

const EMPTY_HEAD: Head = {
  next: 0n,
  timestampMs: 0,
  appliedMs: 0,
  commands: 0,
  unknown: {},
  owner: null,
  claims: [],
  position: null,
};
/** Half of a SHA-256: two keys of one lane never meet. */
const KEY_HASH_BYTES = 16;
/** States of transactions taken at a time: a few milliseconds. */
const GROUP_ROWS = 200;
/** Before every place. */
const NOWHERE = Buffer.alloc(0);

export class LaneStore {
  readonly #tables: LaneTables;
  readonly #headKey: Buffer;
  readonly #restingSince: RestingSince;
  /** Decoded when they are asked for, once each: those of lanes that are open here come decoded. */
  readonly #unfinished = new Map<string, Entry | Buffer>();
  #head: Head;
  /** Those of the head, while records are applied. */
  #unknown = new Map<CommandType, number>();
  /** Of all rows: what comes after it is appended, so that pages become full. */
  #lastPlace: Buffer;

  /** @throws RowDamagedError */
  constructor(tables: LaneTables, lane: number, restingSince: RestingSince) {
    this.#tables = tables;
    this.#headKey = Buffer.from(`lane-${lane}`);
    this.#restingSince = restingSince;
    this.#head = decodeHead(tables.heads.get(this.#headKey));
    this.#lastPlace = lastOf(tables.rows);
    for (const { value } of tables.unfinished.getRange({})) {
      const row = readRow(value);
      this.#unfinished.set(row.ledgerKey, Buffer.from(row.payload));
    }
  }

  head(): Head {
    return this.#head;
  }

  /** Applies records in the order of the ledger; only the last of each key counts. */
  apply(records: readonly LedgerRecord[], nextOffset: bigint, appliedMs: number): void {
    let { claims, owner, position, timestampMs, commands } = this.#head;
    const last = new Map<string, LedgerRecord>();
    for (const record of records) {
      timestampMs = Math.max(timestampMs, record.timestampMs);
      if (record.key === OWNER_KEY) owner = record.value?.toString() ?? null;
      else if (record.key === POSITION_KEY) position = record.value?.toString() ?? null;
      else if (record.key.startsWith(CLAIM_PREFIX)) claims = claimsAfter(claims, record);
      else last.set(record.key, record);
    }
    this.#unknown = new Map(Object.entries(this.#head.unknown) as [CommandType, number][]);
    for (const record of last.values()) commands += this.#put(record);
    const unknown: UnknownCounts = Object.fromEntries([...this.#unknown].filter(([, count]) => count > 0));
    this.#head = { next: nextOffset, timestampMs, appliedMs, commands, unknown, owner, claims, position };
    this.#tables.heads.putSync(this.#headKey, encodeHead(this.#head));
  }

  forget(): void {
    this.#tables.unfinished.clearSync();
    this.#tables.rows.clearSync();
    this.#tables.places.clearSync();
    this.#tables.heads.removeSync(this.#headKey);
    this.#unfinished.clear();
    this.#lastPlace = NOWHERE;
    this.#head = EMPTY_HEAD;
  }

  entry(key: string): Entry | undefined {
    const ledgerKey = ENTRY_PREFIX + key;
    if (this.#unfinished.has(ledgerKey)) return this.#unfinishedEntry(ledgerKey);
    const row = this.#row(ledgerKey);
    return row === undefined ? undefined : entryOf(row);
  }

  value(ledgerKey: string): Buffer | undefined {
    return this.#row(ledgerKey)?.payload;
  }

  unfinished(): Entry[] {
    return [...this.#unfinished.keys()].flatMap((ledgerKey) => this.#unfinishedEntry(ledgerKey) ?? []);
  }

  #unfinishedEntry(ledgerKey: string): Entry | undefined {
    const known = this.#unfinished.get(ledgerKey);
    if (!Buffer.isBuffer(known)) return known;
    const entry = decodeEntry(known);
    this.#unfinished.set(ledgerKey, entry);
    return entry;
  }

  /** A group at a time; what is written between two groups may be missed. */
  *transactions(restingSinceMs: number): Generator<Buffer[], undefined> {
    const resting = { ...rangeOf(ROW_CLASS.transaction), start: placeOf(ROW_CLASS.transaction, restingSinceMs, 0n) };
    for (const { start, end } of [rangeOf(ROW_CLASS.kept), resting]) {
      let from = start;
      for (;;) {
        const rows = [...this.#tables.rows.getRange({ start: from, end, limit: GROUP_ROWS })];
        const last = rows.at(-1);
        if (last === undefined) break;
        // The next place that there can be: a range of its own for each group, so that none holds the store's pages.
        from = Buffer.concat([last.key, Buffer.of(0)]);
        const states = rows.map(({ value }) => readRow(value));
        yield states.filter(({ ledgerKey }) => ledgerKey.startsWith(TRANSACTION_PREFIX)).map(({ payload }) => payload);
      }
    }
    return undefined;
  }

  /** Of each command that has any. Looks at the first place of each alone. */
  unknown(): UnknownResults[] {
    return COMMAND_TYPES.flatMap((command) => {
      const count = this.#head.unknown[command] ?? 0;
      const [oldest] = count === 0 ? [] : this.#unknownPlaces(command, 1);
      return oldest === undefined ? [] : [{ command, count, oldestMs: timeOfPlace(oldest) }];
    });
  }

  /** The oldest, at most as many as given, oldest first. */
  oldestUnknown(limit: number): UnknownResult[] {
    const places = COMMAND_TYPES.filter((command) => this.#head.unknown[command] !== undefined).flatMap((command) =>
      this.#unknownPlaces(command, limit).map((place) => ({ place, command, completedMs: timeOfPlace(place) })),
    );
    places.sort((left, right) => left.completedMs - right.completedMs);
    return places.slice(0, limit).map(({ place, command, completedMs }) => {
      return { key: this.#rowAt(place).ledgerKey.slice(ENTRY_PREFIX.length), command, completedMs };
    });
  }

  /** Keys of rows whose time is before the given ones, oldest first of each class. */
  expired(before: LedgerTimes, limit: number): string[] {
    const keysOf = (rowClass: RowClass, beforeMs: number, count: number): string[] =>
      [...this.#tables.rows.getRange({ ...rangeOf(rowClass), end: placeOf(rowClass, beforeMs, 0n), limit: count })].map(
        ({ value }) => readRow(value).ledgerKey,
      );
    const done = keysOf(ROW_CLASS.done, before.doneMs, limit);
    if (done.length === limit) return done;
    return [...done, ...keysOf(ROW_CLASS.transaction, before.transactionMs, limit - done.length)];
  }

  /** @returns how many entries more are remembered */
  #put(record: LedgerRecord): number {
    const { key, value, state } = record;
    const keyHash = hashOf(key);
    const wasKnown = this.#remove(key, keyHash);
    if (value === null) return wasKnown && isEntry(key) ? -1 : 0;
    if (isEntry(key) && state !== 'DONE') {
      this.#tables.unfinished.putSync(Buffer.from(key), plainRow(key, value));
      // A copy: the bytes are a part of all that was fetched with them.
      this.#unfinished.set(key, record.entry ?? Buffer.from(value));
    } else {
      this.#insert(record, value, keyHash);
    }
    return !wasKnown && isEntry(key) ? 1 : 0;
  }

  #remove(ledgerKey: string, keyHash: Buffer): boolean {
    const { places, rows, unfinished } = this.#tables;
    if (this.#unfinished.delete(ledgerKey)) return unfinished.removeSync(Buffer.from(ledgerKey));
    const place = places.get(keyHash);
    if (place === undefined) return false;
    this.#countUnknown(place, -1);
    rows.removeSync(place);
    return places.removeSync(keyHash);
  }

  #insert(record: LedgerRecord, value: Buffer, keyHash: Buffer): void {
    const { places, rows } = this.#tables;
    const { rowClass, timeMs, row } = this.#rowOf(record, value);
    const place = placeOf(rowClass, timeMs, record.offset);
    const append = place.compare(this.#lastPlace) > 0;
    if (append) this.#lastPlace = place;
    this.#countUnknown(place, 1);
    rows.putSync(place, row, { append });
    places.putSync(keyHash, place);
  }

  #countUnknown(place: Buffer, change: 1 | -1): void {
    const command = unknownCommandAt(place);
    if (command !== null) this.#unknown.set(command, (this.#unknown.get(command) ?? 0) + change);
  }

  #unknownPlaces(command: CommandType, limit: number): Buffer[] {
    const places = this.#tables.rows.getKeys({ ...rangeOf(ROW_CLASS.unknown[command]), limit });
    return Array.from(places, (place) => Buffer.from(place));
  }

  #rowOf(record: LedgerRecord, value: Buffer): { rowClass: RowClass; timeMs: number; row: Buffer } {
    const { key, timestampMs: writtenMs } = record;
    if (key.startsWith(TRANSACTION_PREFIX)) {
      const restingMs = this.#restingSince(value);
      if (restingMs === null) return { rowClass: ROW_CLASS.kept, timeMs: 0, row: plainRow(key, value) };
      return { rowClass: ROW_CLASS.transaction, timeMs: youngerMs(restingMs, writtenMs), row: plainRow(key, value) };
    }
    const entry = isEntry(key) ? (record.entry ?? readableEntry(value)) : null;
    if (entry?.phase.state !== 'DONE') return { rowClass: ROW_CLASS.kept, timeMs: 0, row: plainRow(key, value) };
    const { completedMs, outcome } = entry.phase;
    const row = doneRow(key, entry);
    if (outcome === 'UNKNOWN') return { rowClass: ROW_CLASS.unknown[entry.commandType], timeMs: completedMs, row };
    return { rowClass: ROW_CLASS.done, timeMs: youngerMs(completedMs, writtenMs), row };
  }

  #row(ledgerKey: string): Row | undefined {
    const place = this.#tables.places.get(hashOf(ledgerKey));
    return place === undefined ? undefined : this.#rowAt(place);
  }

  #rowAt(place: Buffer): Row {
    const stored = this.#tables.rows.get(place);
    if (stored === undefined) throw new Error('the local store has a place without a row');
    return readRow(stored);
  }
}

function isEntry(ledgerKey: string): boolean {
  return ledgerKey.startsWith(ENTRY_PREFIX);
}

function lastOf(table: Table): Buffer {
  for (const { key } of table.getRange({ reverse: true, limit: 1 })) return Buffer.from(key);
  return NOWHERE;
}

function hashOf(ledgerKey: string): Buffer {
  return hash('sha256', ledgerKey, 'buffer').subarray(0, KEY_HASH_BYTES);
}

function rangeOf(rowClass: RowClass): { start: Buffer; end: Buffer } {
  return { start: Buffer.of(rowClass), end: Buffer.of(rowClass + 1) };
}

function claimsAfter(claims: Head['claims'], { key, value }: LedgerRecord): Head['claims'] {
  const others = claims.filter(([known]) => known !== key);
  return value === null ? others : [...others, [key, value.toString()]];
}

/** Null for an entry of another release: whoever asks for it learns so. */
function readableEntry(value: Buffer): Entry | null {
  try {
    return decodeEntry(value);
  } catch (error) {
    if (error instanceof LedgerFormatError) return null;
    throw error;
  }
}

function encodeHead(head: Head): Buffer {
  return Buffer.from(JSON.stringify({ ...head, next: head.next.toString() }));
}

function decodeHead(value: Buffer | undefined): Head {
  if (value === undefined) return EMPTY_HEAD;
  const plain = JSON.parse(value.toString()) as Omit<Head, 'next'> & { next: string };
  return { ...plain, next: BigInt(plain.next) };
}

/** What may be forgotten is as young as the younger of two clocks says, the process's and the broker's: either may be slow. */
export function youngerMs(ownMs: number, writtenMs: number): number {
  return Math.max(ownMs, writtenMs);
}
