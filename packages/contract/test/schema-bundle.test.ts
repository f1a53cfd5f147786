/** `npm run check` compares the bundle with the schemas. */
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { loadSchema } from '../src/schemas.ts';

test.each(globSync('schemas/*.avsc').sort())('%s says of each field what it is', (file) => {
  const { fields } = loadSchema(basename(file, '.avsc'));
  expect(fields.filter(({ doc = '' }) => doc === '').map(({ name }) => name)).toEqual([]);
});
