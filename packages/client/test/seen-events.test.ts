/** Ids that outlive the process: an event and its effect are on the disk together, or neither is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterAll, expect, test, vi } from 'vitest';
import { SqliteSeenEvents } from '../src/index.ts';
import { onceRemembered } from '../src/seen-events.ts';

/** Another process that has begun to write, and ends soon. */
const WRITER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(workerData);
  database.exec('BEGIN EXCLUSIVE');
  parentPort.postMessage('writing');
  setTimeout(() => database.close(), 200);
`;

const folder = mkdtempSync(join(tmpdir(), 'seen-events-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('an effect happens once, also over a restart, and not at all where it throws', async () => {
  const path = join(folder, 'seen.sqlite');
  const first = await SqliteSeenEvents.open(path);
  first.database.exec('CREATE TABLE paid (key TEXT)');
  const pay = (seen: SqliteSeenEvents, id: string) =>
    seen.once({ uniqueId: id }, (database) => database.prepare('INSERT INTO paid VALUES (?)').run(id).changes);
  expect(pay(first, 'one')).toBe(1);
  expect(pay(first, 'one')).toBeUndefined();
  const failing = (): never => {
    throw new Error('down');
  };
  expect(() => first.once({ uniqueId: 'two' }, failing)).toThrow('down');
  expect(first.has('two')).toBe(false);
  expect(() => first.once({ uniqueId: 'two' }, async () => undefined)).toThrow('must be synchronous');
  expect(first.has('two')).toBe(false);
  first.close();
  const second = await SqliteSeenEvents.open(path);
  expect(pay(second, 'one')).toBeUndefined();
  expect(pay(second, 'two')).toBe(1);
  expect(second.database.prepare('SELECT key FROM paid').all()).toEqual([{ key: 'one' }, { key: 'two' }]);
  second.close();
});

test('an event that cannot be read is not remembered, for a copy may be readable once its schema is registered', async () => {
  const seen = await SqliteSeenEvents.open(join(folder, 'unreadable.sqlite'));
  const handled: string[] = [];
  for (const kind of ['unreadable', 'result', 'result', 'unreadable'] as const)
    await onceRemembered(seen, { kind, uniqueId: 'one' }, async () => void handled.push(kind));
  expect(handled).toEqual(['unreadable', 'result']);
  for (const kind of ['unreadable', 'result', 'result', 'unreadable'] as const)
    seen.once({ kind, uniqueId: 'two' }, () => void handled.push(kind));
  expect(handled).toEqual(['unreadable', 'result', 'unreadable', 'result']);
  seen.close();
});

test('ids are forgotten once they are old', async () => {
  const path = join(folder, 'old.sqlite');
  const first = await SqliteSeenEvents.open(path);
  first.remember('old');
  first.close();
  const kept = await SqliteSeenEvents.open(path);
  expect(kept.has('old')).toBe(true);
  kept.close();
  const later = await SqliteSeenEvents.open(path, { keepMs: -1 });
  expect(later.has('old')).toBe(false);
  later.close();
});

test('an effect whose own statement rolls back: its error is thrown, and its event is not remembered', async () => {
  const seen = await SqliteSeenEvents.open(join(folder, 'rollback.sqlite'));
  seen.database.exec("CREATE TABLE paid (key TEXT UNIQUE); INSERT INTO paid VALUES ('x')");
  const conflict = (database: DatabaseSync): void => database.exec("INSERT OR ROLLBACK INTO paid VALUES ('x')");
  expect(() => seen.once({ uniqueId: 'one' }, conflict)).toThrow(/UNIQUE/);
  const swallowed = (database: DatabaseSync): void => {
    try {
      conflict(database);
    } catch {
      // As an effect may that takes the row for known.
    }
  };
  expect(() => seen.once({ uniqueId: 'two' }, swallowed)).toThrow(/no transaction/);
  expect([seen.has('one'), seen.has('two')]).toEqual([false, false]);
  seen.close();
});

test('a clock that was ahead or behind for a while forgets no id', async () => {
  const path = join(folder, 'clock.sqlite');
  const [now, yearMs] = [Date.now(), 365 * 86_400_000];
  vi.useFakeTimers({ toFake: ['Date'] });
  const names = ['right', 'ahead', 'behind', 'right again'];
  for (const [index, ms] of [now, now + yearMs, now - yearMs, now].entries()) {
    vi.setSystemTime(ms);
    const seen = await SqliteSeenEvents.open(path);
    expect(names.filter((name) => seen.has(name))).toEqual(names.slice(0, index));
    seen.remember(names[index] ?? '');
    seen.close();
  }
  vi.useRealTimers();
});

test('an answer of has() that is no boolean is an error: taken for no, each event would be handled again', async () => {
  const handled = onceRemembered(
    { has: () => 1 as never, remember: () => undefined },
    { kind: 'result', uniqueId: 'one' },
    async () => undefined,
  );
  await expect(handled).rejects.toMatchObject({ code: 'HANDLER_FAILED' });
});

test('a file that another process still writes to is waited for', async () => {
  const path = join(folder, 'locked.sqlite');
  (await SqliteSeenEvents.open(path)).close();
  const writer = new Worker(WRITER, { eval: true, workerData: path });
  await new Promise((resolve) => writer.once('message', resolve));
  const seen = await SqliteSeenEvents.open(path);
  seen.remember('one');
  expect(seen.has('one')).toBe(true);
  seen.close();
});
