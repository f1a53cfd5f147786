/**
 * The ledger's index on disk: the current records of every lane, and how far each lane has been applied.
 *
 *   created -> opened (a folder claimed; sound and of the same ledger, or rebuilt) -> batches applied, read -> closed
 *
 * Applied records stay in memory, where reads see them, until there are many, enough time has passed, or a read needs
 * the tables: most records are soon replaced. Then one LMDB transaction writes them all, with the offset up to which
 * each lane is applied. After a crash the reader continues from there.
 *
 * Nothing waits for the disk, because the ledger topic has everything. The next start recognizes a store that may be
 * torn, and rebuilds it (store-soundness.ts). If a store fails in use, from damage or a full disk, the process ends,
 * and its lanes go to members whose stores work.
 */
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import type { Entry } from '../ledger/entry.ts';
import {
  decodeClaim,
  ownerRecords,
  positionRecords,
  OWNER_KEY,
  POSITION_KEY,
  type Claim,
  type OwnerRecord,
  type PositionRecord,
} from '../ledger/ledger-records.ts';
import { LedgerFormatError } from '../ledger/ledger-value.ts';
import { diskUse, isDiskFull, noSpace, type DiskUse } from './disk-space.ts';
import { LaneStore, type Table } from './lane-store.ts';
import type { Checkpoint, LedgerRecord, LedgerTimes, UnknownResult, UnknownResults } from './ledger-index.ts';
import { rowDictionary } from './row-dictionary.ts';
import { claimStateFolder, DATA_FILE, StateDirectoryError, type StateFolder } from './state-folder.ts';
import { markClosed, markDoomed, markStage, whyUnsound, wipe } from './store-soundness.ts';

/** The ledger that the store was built from; a store of another ledger is worthless. */
export interface StoreIdentity {
  readonly topic: string;
  readonly laneCount: number;
  readonly clusterId: string;
  /** It changes when the topic is recreated; null: the brokers have no topic ids. */
  readonly topicId: string | null;
}

export interface OpenedStore {
  readonly folder: string;
  /** Why the existing store was discarded; null: it was used, or there was none. */
  readonly rebuiltBecause: string | null;
}

export interface LmdbLedgerIndexOptions {
  readonly stateDirectory: string;
  readonly laneCount: number;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: () => number;
  /** The store failed in use: the process must end, because it would read wrong data. */
  readonly onFatal: (error: Error) => void;
}

/** Increase it with every change of tables, rows or dictionary. */
export const STORE_FORMAT = 10;
/**
 * Address space for the file, about 60 million keys; it costs neither memory nor disk. If the map had to grow, LMDB's
 * binding would also keep the smaller maps, and each would count the same pages as resident again.
 */
const MAP_BYTES = 64 * 1024 ** 3;
const IDENTITY_KEY = Buffer.from('identity');
/**
 * Smaller than nearly every finished entry, larger than a transaction's state. Compressing the states too would take 6
 * us each and save only a tenth of the store.
 */
const COMPRESSION_BYTES_MIN = 400;
/** The table of heads. */
const SHARED_TABLES = 1;
const TABLES_OF_LANE = 2;
/** Most calls take less, with both commits: their INTENT entries are replaced before they are written. */
const GATHER_MS = 250;
/** Limits over all lanes. They bound memory, and the time of one transaction. */
const PENDING_RECORDS_MAX = 2_000;
const PENDING_BYTES_MAX = 8 * 1024 * 1024;
const BINARY = { encoding: 'binary', keyEncoding: 'binary' } as const;

export class LmdbLedgerIndex {
  readonly #options: LmdbLedgerIndexOptions;
  #opened: { folder: StateFolder; database: RootDatabase<Buffer, Buffer>; lanes: readonly LaneStore[] } | null = null;
  #writing: NodeJS.Timeout | null = null;

  constructor(options: LmdbLedgerIndexOptions) {
    this.#options = options;
  }

  /** @throws StateDirectoryError when the state directory cannot be used */
  async open(identity: StoreIdentity): Promise<OpenedStore> {
    const folder = await claimStateFolder(this.#options.stateDirectory);
    try {
      const unsound = whyUnsound(folder.path);
      if (unsound !== null) wipe(folder.path);
      const foreign = await this.#openIn(folder, identity);
      if (foreign !== null) {
        wipe(folder.path);
        await this.#openIn(folder, identity);
      }
      return { folder: folder.path, rebuiltBecause: unsound ?? foreign };
    } catch (error) {
      folder.release();
      const { code, message } = error as NodeJS.ErrnoException;
      const named = typeof code === 'string' ? code : message;
      // LMDB may report a full disk with another error.
      const reason = code === 'ENOSPC' || isDiskFull(folder.path) ? noSpace(folder.path, named) : named;
      throw new StateDirectoryError(`STATE_DIR: ${folder.path} cannot be used: ${reason}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    if (this.#opened === null) return;
    const { database, folder } = this.#opened;
    this.#tryWrite();
    this.#opened = null;
    await database.close();
    try {
      markClosed(folder.path);
    } finally {
      folder.release();
    }
  }

  /**
   * Takes records of the topic in order, and the offset that follows them. If one cannot be applied, the offset does
   * not move.
   * @param records the index keeps their values, so nobody else may own those bytes
   */
  applyBatch(lane: number, records: readonly LedgerRecord[], nextOffset: bigint): void {
    this.#guarded(lane, (store) => {
      store.apply(records, nextOffset, this.#options.nowMs());
      if (this.#isWriteDue()) this.#write();
      else this.#writing ??= setTimeout(() => this.#tryWrite(), GATHER_MS);
    });
  }

  /** Whether the pending records or bytes of all lanes reach their limit. */
  #isWriteDue(): boolean {
    let [records, bytes] = [0, 0];
    for (const lane of this.#opened?.lanes ?? []) {
      const pending = lane.pending();
      records += pending.records;
      bytes += pending.bytes;
    }
    return records >= PENDING_RECORDS_MAX || bytes >= PENDING_BYTES_MAX;
  }

  /** Never throws: a failure ends the process through `onFatal`. */
  #tryWrite(): void {
    try {
      this.#guarded(0, () => this.#write());
    } catch {
      // The process is ending: `onFatal` was called.
    }
  }

  #write(): void {
    if (this.#writing !== null) clearTimeout(this.#writing);
    this.#writing = null;
    if (this.#opened === null) return;
    const lanes = this.#opened.lanes.filter((lane) => !lane.isWritten());
    if (lanes.length === 0) return;
    this.#opened.database.transactionSync(() => {
      for (const lane of lanes) lane.write();
    });
    for (const lane of lanes) lane.written();
  }

  /** For reads that use only the tables: writes pending records first. */
  #tables<Value>(lane: number, use: (store: LaneStore) => Value): Value {
    return this.#guarded(lane, (store) => {
      this.#write();
      return use(store);
    });
  }

  /** Discards everything about the lane, so that it is read from the beginning. */
  forgetLane(lane: number): void {
    this.#guarded(lane, (store, database) => database.transactionSync(() => store.forget()));
  }

  checkpoint(lane: number): Checkpoint {
    return this.#guarded(lane, (store) => {
      const { next, timestampMs, appliedMs } = store.head();
      return { nextOffset: next, timestampMs, appliedMs };
    });
  }

  entry(lane: number, key: string): Entry | undefined {
    return this.#guarded(lane, (store) => store.entry(key));
  }

  /** Any other record of the lane, by its whole key. */
  value(lane: number, key: string): Buffer | undefined {
    return this.#guarded(lane, (store) => store.value(key));
  }

  unfinished(lane: number): Entry[] {
    return this.#tables(lane, (store) => store.unfinished());
  }

  /**
   * Values of the lane's transaction states: first those not at rest, then those at rest since the instant or later.
   * They come in groups, for a pause after each; records written meanwhile may be missing.
   */
  *transactions(lane: number, restingSinceMs: number): Iterable<Buffer[]> {
    const groups: Iterator<Buffer[], undefined> = this.#tables(lane, (store) => store.transactions(restingSinceMs));
    for (;;) {
      const next = this.#guarded(lane, () => groups.next());
      if (next.done === true) return;
      yield next.value;
    }
  }

  /** Keys, with prefix, that may be forgotten: done entries, oldest first, then transactions at rest. Never UNKNOWN. */
  expired(lane: number, before: LedgerTimes, limit: number): string[] {
    return this.#tables(lane, (store) => store.expired(before, limit));
  }

  /** Number and oldest of the lane's UNKNOWN results, for each command that has any. Cheap, however many there are. */
  unknown(lane: number): UnknownResults[] {
    return this.#tables(lane, (store) => store.unknown());
  }

  /** The oldest UNKNOWN results of the lane, oldest first, at most `limit`. */
  oldestUnknown(lane: number, limit: number): UnknownResult[] {
    return this.#tables(lane, (store) => store.oldestUnknown(limit));
  }

  owner(lane: number): OwnerRecord | undefined {
    const value = this.value(lane, OWNER_KEY);
    return value === undefined ? undefined : ownerRecords.decode(value);
  }

  /** Claims on the lane that no record has withdrawn, including those whose owner fenced itself (`isFenced`). */
  claims(lane: number): Claim[] {
    const claims = this.#guarded(lane, (store) => store.claims());
    return Array.from(claims, ([key, value]) => decodeClaim(key, value));
  }

  position(lane: number): PositionRecord | undefined {
    const value = this.value(lane, POSITION_KEY);
    return value === undefined ? undefined : positionRecords.decode(value);
  }

  /** While false, only `open`, `close`, `size` and `disk` may be called. */
  isOpen(): boolean {
    return this.#opened !== null;
  }

  /** Commands remembered, all lanes; 0 while the store is not open. */
  size(): number {
    if (this.#opened !== null) this.#tables(0, () => undefined);
    return (this.#opened?.lanes ?? []).reduce((sum, store) => sum + store.head().commands, 0);
  }

  /** Null while the store is not open. */
  disk(): DiskUse | null {
    return this.#opened === null ? null : diskUse(join(this.#opened.folder.path, DATA_FILE));
  }

  /** @returns why the existing store cannot be used; nothing is open then */
  async #openIn(folder: StateFolder, identity: StoreIdentity): Promise<string | null> {
    const { laneCount } = this.#options;
    markStage(folder.path, 'opening');
    const database = open<Buffer, Buffer>({
      path: folder.path,
      maxDbs: SHARED_TABLES + TABLES_OF_LANE * laneCount,
      mapSize: MAP_BYTES,
      noSync: true,
      overlappingSync: false,
      ...BINARY,
    });
    try {
      const heads = database.openDB({ name: 'heads', ...BINARY });
      const wanted = JSON.stringify({ format: STORE_FORMAT, ...identity });
      const found = heads.get(IDENTITY_KEY)?.toString();
      if (found !== undefined && found !== wanted) {
        await database.close();
        return `it belongs to another ledger or has another format: ${found}, not ${wanted}`;
      }
      if (found === undefined) heads.putSync(IDENTITY_KEY, Buffer.from(wanted));
      const compression = { threshold: COMPRESSION_BYTES_MIN, dictionary: rowDictionary() };
      const lanes = Array.from({ length: laneCount }, (_, lane) => {
        const rows: Table = database.openDB({ name: `rows-${lane}`, compression, ...BINARY });
        const places: Table = database.openDB({ name: `places-${lane}`, ...BINARY });
        return new LaneStore({ rows, places, heads }, lane);
      });
      markStage(folder.path, 'open');
      this.#opened = { folder, database, lanes };
      return null;
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  #guarded<Value>(lane: number, use: (store: LaneStore, database: RootDatabase<Buffer, Buffer>) => Value): Value {
    const store = this.#opened?.lanes[lane];
    if (this.#opened === null || store === undefined) {
      throw new Error(`the store is not open, or lane ${lane} is not one of its ${this.#options.laneCount} lanes`);
    }
    try {
      return use(store, this.#opened.database);
    } catch (error) {
      // A record of another release is no fault of the store; the lane reports it.
      if (error instanceof LedgerFormatError) throw error;
      throw this.#failed(this.#opened.folder, error);
    }
  }

  #failed(folder: StateFolder, cause: unknown): Error {
    const message = cause instanceof Error ? cause.message : String(cause);
    const isFull = isDiskFull(folder.path);
    const reason = isFull ? noSpace(folder.path, message) : message;
    const error = new Error(`the local store ${folder.path} failed: ${reason}`, { cause });
    // A write that found no space changed nothing: the store can be used again.
    if (!isFull) markDoomed(folder.path, message);
    this.#options.onFatal(error);
    return error;
  }
}
