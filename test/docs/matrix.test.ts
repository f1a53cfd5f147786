/** The matrix runs tests that there are, and docs/compatibility.md says of each row what came of it. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MATRIX_ROWS } from '../../dev/matrix/rows.ts';

const page = readFileSync('docs/compatibility.md', 'utf8');
const section = page.slice(page.indexOf('## Tested with'));
const table = section.slice(0, section.indexOf('\n## '));

test.each(MATRIX_ROWS)('$name runs files that there are', ({ config, tests }) => {
  for (const path of [config, ...tests]) expect(existsSync(path) || globSync(`${path}*`).length > 0, path).toBe(true);
});

test('each row stands in the table of docs/compatibility.md, and no other', () => {
  const named = [...table.matchAll(/^\| .*\| `([a-z]+-[\w.-]+)` +\|/gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(MATRIX_ROWS.map(({ name }) => name).sort());
});
