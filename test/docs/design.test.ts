/** DESIGN.md names files and functions: they are there. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const SRC = new URL('../../src/', import.meta.url);
const FOLDERS = ['', 'lanes/', 'ledger/', 'consumers/'];
const text = readFileSync(new URL('../../DESIGN.md', import.meta.url), 'utf8');
const journey = text.slice(text.indexOf('## Journey of a command'), text.indexOf('## Glossary'));
/** A file, and the function that is named right after it, if any. */
const NAMED = /`([\w/-]+\.ts)`(?:\s+`(#?\w+)`(?:, `(#?\w+)`)*)?/g;

function sourceOf(file: string): string | null {
  const folder = FOLDERS.find((candidate) => existsSync(new URL(candidate + file, SRC)));
  return folder === undefined ? null : readFileSync(new URL(folder + file, SRC), 'utf8');
}

test('the journey of a command passes files and functions that there are', () => {
  const stops = [...journey.matchAll(NAMED)].map(([, file = '', name = '']) => ({ file, name }));
  expect(stops.length).toBeGreaterThan(20);
  expect(stops.filter(({ file, name }) => sourceOf(file)?.includes(name) !== true)).toEqual([]);
});
