/** Long runs: each part is judged by its end and by its limit, and what it started is gone before the next begins. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runParts, type Part } from '../../../dev/batch.ts';
import { gone, isAlive } from './processes.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'batch-test-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function part(name: string, script: string): Part {
  return { name, title: `part ${name}`, command: ['sh', '-c', script], limitMinutes: 5 };
}

test('each part ends by itself, and one that fails does not keep the next from running', async () => {
  const said: string[] = [];
  const parts = [part('good', 'echo out'), part('bad', 'echo why; exit 3'), part('last', 'node --version')];
  const ends = await runParts(parts, folder, (line) => said.push(line));
  expect(ends.map(({ name, reason, verdict }) => [name, verdict, reason])).toEqual([
    ['good', 'held', null],
    ['bad', 'fell', 'exit code 3'],
    ['last', 'held', null],
  ]);
  expect(said.join('\n')).toMatch(/bad: FELL \(exit code 3\) after \d+ s\n {2}why/);
  // This Node, whatever is first on the PATH.
  expect(await readFile(ends[2]?.log ?? '', 'utf8')).toBe(`${process.version}\n`);
});

test('a part that is longer than its limit fell, and all that it started is gone', async () => {
  const [end] = await runParts(
    [{ ...part('long', 'sleep 600 & echo $!; wait'), limitMinutes: 0.02 }],
    folder,
    () => undefined,
  );
  expect(end).toMatchObject({ verdict: 'fell', reason: 'longer than 0.02 min' });
  const started = Number(await readFile(end?.log ?? '', 'utf8'));
  expect(started).toBeGreaterThan(0);
  await gone([started]);
  expect(isAlive(started)).toBe(false);
});
