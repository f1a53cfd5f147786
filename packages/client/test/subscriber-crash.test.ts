/** A subscriber that is killed among its events: the next one misses none, and how many come again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { childEnvironment } from '../../../test/support/child-environment.ts';
import { eventually } from '../../../test/support/watch.ts';
import { environmentOf, freshPrefix, prepare, resultOf, ResultWriter } from './fixtures.ts';

const PROGRAM = fileURLToPath(new URL('crashing-subscriber.ts', import.meta.url));
const EVENTS = 400;
const KILLED_AT = [80, 200, 320];
const prefix = freshPrefix('crash');
const folder = mkdtempSync(join(tmpdir(), 'crash-'));
const running = new Set<ChildProcess>();

beforeAll(async () => {
  await prepare(prefix);
  const writer = await ResultWriter.open(prefix);
  for (let event = 0; event < EVENTS; event += 1) await writer.write(resultOf(`key-${event}`));
  await writer.close();
});
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

function start(mode: string): ChildProcess {
  const args = [PROGRAM, join(folder, mode), `${prefix}-${mode}`, mode];
  const child = spawn(process.execPath, args, {
    env: { ...childEnvironment(), ...environmentOf(prefix) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(child);
  return child;
}

/** @returns effects beyond the first of an event */
async function repeatedOver(mode: string): Promise<number> {
  const database = new DatabaseSync(join(folder, mode), { timeout: 5_000 });
  database.exec('CREATE TABLE effects (key TEXT)');
  const count = database.prepare('SELECT count(*) AS "all", count(DISTINCT key) AS "distinct" FROM effects');
  const effects = () => count.get() as { all: number; distinct: number };
  const reaches = (wanted: number): Promise<unknown> =>
    eventually(
      async () => effects().distinct,
      (distinct) => distinct >= wanted,
      `${wanted} keys with an effect (${mode})`,
    );
  for (const wanted of KILLED_AT) {
    const child = start(mode);
    await reaches(wanted);
    child.kill('SIGKILL');
  }
  start(mode);
  await reaches(EVENTS);
  const { all, distinct } = effects();
  database.close();
  return all - distinct;
}

test('events come again after a crash: of a second, at most one with each commit, none where they are remembered', async () => {
  const [interval = 0, each = 0, once = 0] = await Promise.all(['interval', 'each', 'once'].map(repeatedOver));
  console.info(
    `handled again over ${KILLED_AT.length} kills: ${interval} by interval, ${each} with each, ${once} once`,
  );
  expect(each).toBeLessThanOrEqual(KILLED_AT.length);
  expect(interval).toBeGreaterThanOrEqual(each);
  expect(once).toBe(0);
}, 240_000);
