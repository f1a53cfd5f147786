/** Ids that outlive the process: an event and its effect are on the disk together, or neither is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { SqliteSeenEvents } from '../src/index.ts';

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
  first.close();
  const second = await SqliteSeenEvents.open(path);
  expect(pay(second, 'one')).toBeUndefined();
  expect(pay(second, 'two')).toBe(1);
  expect(second.database.prepare('SELECT key FROM paid').all()).toEqual([{ key: 'one' }, { key: 'two' }]);
  second.close();
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
