/** Steps of docs/changing.md that neither the compiler nor `npm run check` asks for. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createProgram } from 'payment-processor-cli/program';
import { SETTINGS } from 'payment-processor-contract/config';
import { METRICS } from '../../src/ops/metrics-table.ts';
import { STORE_FORMAT } from '../../src/store/lmdb-ledger-index.ts';
import { rowDictionary } from '../../src/store/row-dictionary.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

function sources(pattern: string, without: RegExp): string {
  const files = globSync(pattern, { cwd: ROOT }).filter((file) => !without.test(file));
  return files.map((file) => readFileSync(ROOT + file, 'utf8')).join('\n');
}

test('every setting is read by somebody', () => {
  const text = sources('{src,packages/*/src}/**/*.ts', /(^|\/)config\.ts$/);
  expect(Object.keys(SETTINGS).filter((name) => !text.includes(name))).toEqual([]);
});

test('every metric is written by somebody', () => {
  const text = sources('src/ops/*.ts', /metrics-table\.ts$/);
  const isWritten = (name: string): boolean => new RegExp(`'${name}'|\\b${name}:`).test(text);
  expect(Object.keys(METRICS).filter((name) => !isWritten(name))).toEqual([]);
});

test('every command of the command line is in its page', () => {
  const names = createProgram().commands.map((command) => command.name());
  expect(names.length).toBeGreaterThan(5);
  const page = readFileSync(`${ROOT}docs/command-line.md`, 'utf8');
  expect(names.filter((name) => !page.includes(`\`npm run cli -- ${name}`))).toEqual([]);
});

test('stores are read with the dictionary that they were written with: where it differs, the format is another', () => {
  const digest = createHash('sha256').update(rowDictionary()).digest('hex');
  expect({ format: STORE_FORMAT, digest }).toEqual({
    format: 10,
    digest: 'b21f47ce8fa1929f263152d48e5bec9490ed97bf183554327c638b036a92f4e3',
  });
});
