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

const BEGIN = '<!-- generated: begin -->\n';
const END = '<!-- generated: end -->\n';

/** As writeOrCheck, for the part of a page between the two comments; the rest of the page is written by hand. */
export function writeOrCheckPart(path: string, source: string, part: string): void {
  const [before, rest] = splitAt(readFileSync(new URL(path, root), 'utf8'), BEGIN, path);
  const [, after] = splitAt(rest, END, path);
  writeOrCheck(path, source, `${before}${BEGIN}\n${part}${END}${after}`);
}

function splitAt(text: string, mark: string, path: string): [string, string] {
  const [before, after, ...others] = text.split(mark);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${path} must have one line ${mark}`);
  return [before, after];
}

/** Names of the records of `schemas/`, or of a folder below it. */
export function recordNames(folder = ''): string[] {
  const files = readdirSync(new URL(`schemas/${folder}`, root)).filter((file) => file.endsWith('.avsc'));
  return files.map((file) => file.slice(0, -'.avsc'.length)).sort();
}
