/**
 * Writes schemas/bundle/*.avsc: each record of schemas/ with all that it refers to, so that any Avro library can use a
 * file by itself. With `--check` only compares, and finds files that belong to no record any more.
 */
import { rmSync } from 'node:fs';
import { loadSchema } from 'payment-processor-contract/schemas';
import { recordNames, writeOrCheck } from './generated-file.ts';

const names = recordNames();
for (const name of names) {
  writeOrCheck(`schemas/bundle/${name}.avsc`, 'schemas/', `${JSON.stringify(loadSchema(name), null, 2)}\n`);
}
const superfluous = recordNames('bundle/').filter((name) => !names.includes(name));
if (process.argv.includes('--check') && superfluous.length > 0) {
  console.error(`schemas/bundle/ has ${superfluous.join(', ')}, which schemas/ does not: run \`npm run generate\`.`);
  process.exit(1);
}
for (const name of superfluous) rmSync(new URL(`../../schemas/bundle/${name}.avsc`, import.meta.url));
