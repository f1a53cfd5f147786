/**
 * Ids of handled events in an SQLite file, which may also hold the events' effects. Only one process at a time may use the
 * file.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { PaymentEvent } from './events.ts';
import type { SeenEvents } from './seen-events.ts';

export interface SqliteOptions {
  /**
   * How long to keep ids, ms; default: 60 days. Copies bring an event again until LEDGER_RETENTION (7 days) after it,
   * and the topics keep that for 30 days.
   */
  keepMs?: number;
}

const KEEP_MS_DEFAULT = 60 * 24 * 3_600_000;
/** Wait for a lock: a killed process may not have ended yet, or a reader may hold it. */
const BUSY_MS_MAX = 5_000;

export class SqliteSeenEvents implements SeenEvents {
  /** For your own tables, which `once` changes. */
  readonly database: DatabaseSync;
  /** The newest time in the file. With it, a clock that is later set back or ahead makes no id expire early. */
  #newestMs: number;

  private constructor(database: DatabaseSync, newestMs: number) {
    this.database = database;
    this.#newestMs = newestMs;
  }

  /** Opens or creates the file, and deletes expired ids. */
  static async open(path: string, { keepMs = KEEP_MS_DEFAULT }: SqliteOptions = {}): Promise<SqliteSeenEvents> {
    // Loaded lazily: Node warns that node:sqlite is experimental, and only its users should see that.
    const { DatabaseSync: Database } = await import('node:sqlite');
    const database = new Database(path);
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS_MAX}`);
    database.exec('PRAGMA synchronous = FULL');
    database.exec('CREATE TABLE IF NOT EXISTS seen_events (id TEXT PRIMARY KEY, seen_ms INTEGER) WITHOUT ROWID');
    const newest = database.prepare('SELECT max(seen_ms) AS ms FROM seen_events').get();
    const newestMs = Number(newest?.['ms'] ?? 0);
    database.prepare('DELETE FROM seen_events WHERE seen_ms < ?').run(Math.min(Date.now(), newestMs) - keepMs);
    return new SqliteSeenEvents(database, newestMs);
  }

  has(id: string): boolean {
    return this.database.prepare('SELECT 1 FROM seen_events WHERE id = ?').get(id) !== undefined;
  }

  remember(id: string): void {
    this.#newestMs = Math.max(this.#newestMs, Date.now());
    this.database.prepare('INSERT OR IGNORE INTO seen_events VALUES (?, ?)').run(id, this.#newestMs);
  }

  /**
   * Runs an event's effect and remembers the event in one transaction: both reach the disk, or neither. Events without an id
   * and unreadable events are not remembered.
   * @param effect changes only this database, synchronously
   * @returns the effect's return value; undefined if the event was already remembered
   * @throws the effect's error; then nothing has changed
   */
  once<Value>(
    { kind, uniqueId }: Pick<PaymentEvent, 'uniqueId'> & Partial<Pick<PaymentEvent, 'kind'>>,
    effect: (database: DatabaseSync) => Value,
  ): Value | undefined {
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const isKnown = uniqueId !== null && this.has(uniqueId);
      // Before the effect: if a statement of it rolls back, the id must not stay.
      if (uniqueId !== null && kind !== 'unreadable') this.remember(uniqueId);
      const value = isKnown ? undefined : effect(this.database);
      // Later work would be outside the transaction, and lost if it fails, because the event is already remembered.
      if (value instanceof Promise) throw new TypeError('the effect of an event must be synchronous');
      this.database.exec('COMMIT');
      return value;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  close(): void {
    this.database.close();
  }

  #rollBack(): void {
    try {
      this.database.exec('ROLLBACK');
    } catch {
      // A statement of the effect, such as INSERT OR ROLLBACK, has ended the transaction.
    }
  }
}
