/**
 * Ids of handled events in an SQLite file, beside the effects of the events where these are kept there, too. The file
 * belongs to one process at a time.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { PaymentEvent } from './events.ts';
import type { SeenEvents } from './seen-events.ts';

export interface SqliteOptions {
  /** How long ids are kept, ms; 60 days if not given, which is longer than topics keep their events. */
  keepMs?: number;
}

const KEEP_MS_DEFAULT = 60 * 24 * 3_600_000;
/** For a process that was killed and has yet to end, or a reader. */
const BUSY_MS_MAX = 5_000;

export class SqliteSeenEvents implements SeenEvents {
  /** For tables of one's own, which `once` changes. */
  readonly database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.database = database;
  }

  /** Opens the file, or makes it, and forgets the ids that are old enough. */
  static async open(path: string, { keepMs = KEEP_MS_DEFAULT }: SqliteOptions = {}): Promise<SqliteSeenEvents> {
    // Node warns that it is experimental when it is loaded: only who uses it is to see that.
    const { DatabaseSync: Database } = await import('node:sqlite');
    const database = new Database(path);
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS_MAX}`);
    database.exec('PRAGMA synchronous = FULL');
    database.exec('CREATE TABLE IF NOT EXISTS seen_events (id TEXT PRIMARY KEY, seen_ms INTEGER) WITHOUT ROWID');
    database.prepare('DELETE FROM seen_events WHERE seen_ms < ?').run(Date.now() - keepMs);
    return new SqliteSeenEvents(database);
  }

  has(id: string): boolean {
    return this.database.prepare('SELECT 1 FROM seen_events WHERE id = ?').get(id) !== undefined;
  }

  remember(id: string): void {
    this.database.prepare('INSERT OR IGNORE INTO seen_events VALUES (?, ?)').run(id, Date.now());
  }

  /**
   * Runs the effect of an event and remembers the event in one transaction: both are on the disk, or neither is. An event
   * without an id, or one that cannot be read, is not remembered.
   * @param effect changes this database alone, and synchronously
   * @returns what the effect returned; undefined where the event was remembered already
   * @throws what the effect threw; then nothing was changed
   */
  once<Value>(
    { kind, uniqueId }: Pick<PaymentEvent, 'uniqueId'> & Partial<Pick<PaymentEvent, 'kind'>>,
    effect: (database: DatabaseSync) => Value,
  ): Value | undefined {
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const value = uniqueId !== null && this.has(uniqueId) ? undefined : effect(this.database);
      // What it does later would be in no transaction, and lost if it fails: the event is remembered by then.
      if (value instanceof Promise) throw new TypeError('the effect of an event must be synchronous');
      if (uniqueId !== null && kind !== 'unreadable') this.remember(uniqueId);
      this.database.exec('COMMIT');
      return value;
    } catch (error) {
      this.database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.database.close();
  }
}
