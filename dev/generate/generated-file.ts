/** Writes a generated file, or with `--check` only compares it: exit code 1, and what to do, if it is stale. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/**
 * @param path of the file, from the root of the repository
 * @param source what it is generated from, in words
 */
export function writeOrCheck(path: string, source: string, text: string): void {
  const target = new URL(path, root);
  if (!process.argv.includes('--check')) {
    mkdirSync(new URL('.', target), { recursive: true });
    writeFileSync(target, text);
    return;
  }
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  console.error(`${path} does not match ${source}: run \`npm run generate\` and commit the result.`);
  process.exit(1);
}

/** Names of the records of `schemas/`, or of a folder below it. */
export function recordNames(folder = ''): string[] {
  const files = readdirSync(new URL(`schemas/${folder}`, root)).filter((file) => file.endsWith('.avsc'));
  return files.map((file) => file.slice(0, -'.avsc'.length)).sort();
}
