/** Starts the processor here as in production: by the `start` script of package.json. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../', import.meta.url);

/** Arguments of `node`: its options and the absolute path of the program. */
export function startArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
    scripts: { start: string };
  };
  const [node, ...words] = scripts.start.split(' ');
  const program = words.pop();
  if (node !== 'node' || program === undefined) throw new Error(`the start script is not node's: ${scripts.start}`);
  return [...words, fileURLToPath(new URL(program, ROOT))];
}
