/**
 * Writes schemas/bundle/*.avsc: each record of schemas/ with all that it refers to, so that any Avro library can use a
 * file by itself. With `--check` only compares, and finds files that belong to no record any more.
 */
import { readdirSync, rmSync } from 'node:fs';
import { loadSchema } from 'payment-processor-contract/schemas';
import { writeOrCheck } from './generated-file.ts';

const SUFFIX = '.avsc';
const schemas = new URL('../../schemas/', import.meta.url);
const bundle = new URL('bundle/', schemas);

function recordNamesIn(folder: URL): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length))
    .sort();
}

const names = recordNamesIn(schemas);
for (const name of names) {
  writeOrCheck(`schemas/bundle/${name}${SUFFIX}`, 'schemas/', `${JSON.stringify(loadSchema(name), null, 2)}\n`);
}
const superfluous = recordNamesIn(bundle).filter((name) => !names.includes(name));
if (process.argv.includes('--check') && superfluous.length > 0) {
  console.error(`schemas/bundle/ has ${superfluous.join(', ')}, which schemas/ does not: run \`npm run generate\`.`);
  process.exit(1);
}
for (const name of superfluous) rmSync(new URL(`${name}${SUFFIX}`, bundle));
