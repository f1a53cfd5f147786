/** The literals that the client promises are those that results have. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROCESSOR_ERROR_CODES } from '../src/index.ts';

test('the codes of the processor are those that its results are made with, and that the docs list', () => {
  const source = readFileSync('src/ledger/result-record.ts', 'utf8');
  const made = [...source.matchAll(/code: '([A-Z_]+)'/g)].map(([, code = '']) => code);
  expect([...new Set(made)].sort()).toEqual(Object.keys(PROCESSOR_ERROR_CODES).sort());
  const rows = [...readFileSync('docs/events.md', 'utf8').matchAll(/^\| ([A-Z_]+) +\| ([A-Z]+) +\|/gm)];
  const listed = rows.map(([, code = '', outcome = '']) => [code, outcome]);
  expect(Object.fromEntries(listed)).toMatchObject(PROCESSOR_ERROR_CODES);
});
