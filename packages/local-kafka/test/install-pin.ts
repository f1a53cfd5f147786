/** Installs a pin of one small file and prints the folder as JSON. Lines of progress go to standard error. */
import { installed } from '../src/cache.ts';

const folder = await installed(
  { kind: 'jars', title: 'Thing', folder: 'thing-1.0', coordinates: ['example:thing:1.0'], downloadMegabytes: 1 },
  (line) => console.error(line),
);
console.log(JSON.stringify({ folder }));
