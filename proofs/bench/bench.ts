/**
 * The measurements that need no Kafka, one after the other: `npm run bench [-- --json]`.
 *
 * Each prints a table, or a JSON document with `--json`. Exit code 0 when all ran to their end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MEASUREMENTS = ['ledger-store.ts', 'poller.ts'];
const formats = process.argv.slice(2);
if (formats.some((argument) => argument !== '--json')) {
  console.error(
    'npm run bench takes --json alone; a measurement of its own, as `node proofs/bench/poller.ts`, takes more',
  );
  process.exit(2);
}

for (const name of MEASUREMENTS) {
  const path = fileURLToPath(new URL(name, import.meta.url));
  // The store's memory is read after a collection.
  const child = spawn(process.execPath, ['--expose-gc', path, ...formats], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) {
    console.error(`${name} ended with ${code ?? 'a signal'}`);
    process.exit(1);
  }
}
