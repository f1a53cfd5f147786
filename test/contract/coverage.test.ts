/** The coverage table of the interface: every row has tests that show it, and they exist. */
import { expect, test } from 'vitest';
import { COMMAND_TYPES } from '../../src/records/commands.ts';
import { ROWS } from './coverage-rows.ts';
import type { Evidence } from './evidence.ts';
import { ENDPOINTS, FILTERS } from './interface.ts';
import { testTitles } from './test-titles.ts';

const nameOf = ({ file, title }: Evidence): string => `test/${file}: ${title}`;

test('every row of the interface names a test that shows it', () => {
  const without = ROWS.filter(({ shownBy }) => shownBy.length === 0);
  expect(without.map(({ section, item }) => `${section}: ${item}`)).toEqual([]);
  const names = ROWS.map(({ section, item }) => `${section}: ${item}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('every test that a row names exists and runs', async () => {
  const files = new Set(ROWS.flatMap(({ shownBy }) => shownBy.map(({ file }) => file)));
  const titles = new Map(await Promise.all([...files].map(async (file) => [file, await testTitles(file)] as const)));
  const named = new Map(ROWS.flatMap(({ shownBy }) => shownBy.map((evidence) => [nameOf(evidence), evidence])));
  const missing = [...named].filter(([, { file, title }]) => titles.get(file)?.has(title) !== true);
  expect(missing.map(([name]) => name)).toEqual([]);
});

test('every operation of the processor is one of the interface, and the other way round', () => {
  expect(Object.keys(ENDPOINTS).sort()).toEqual([...COMMAND_TYPES, 'list-transactions'].sort());
  expect(FILTERS).toHaveLength(12);
});
