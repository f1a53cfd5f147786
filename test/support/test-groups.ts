/**
 * Groups test files by what they need: nothing, processes of their own (or a count of what this process holds), the shared
 * Kafka and registry, or also the shared Kafka with authentication and authorization. A file's text and imports decide, so
 * nobody has to maintain a list.
 */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type TestGroup = 'pure' | 'processes' | 'kafka' | 'secured';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDERS = ['test', 'proofs', ...globSync('packages/*/test', { cwd: ROOT })];
/** Other commands run these. */
const ELSEWHERE = /^(test\/(operations|cluster)|proofs\/long)\//;
const EITHER_STACK = join(ROOT, 'test/support/with-stack.ts');
const SECURED_KAFKA = join(ROOT, 'test/access/secured-kafka.ts');

/** @returns the files of `npm test`, as paths below the repository */
export function testFiles(): Readonly<Record<TestGroup, string[]>> {
  const files: Record<TestGroup, string[]> = { pure: [], processes: [], kafka: [], secured: [] };
  for (const file of allFiles()) files[groupOf(join(ROOT, file))].push(file);
  return files;
}

/** @returns the files that can run with a real or a simulated Kafka */
export function testsOfEitherStack(): string[] {
  return allFiles().filter((file) => sourcesOf(join(ROOT, file)).has(EITHER_STACK));
}

function allFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ).filter((file) => file.endsWith('.test.ts') && !ELSEWHERE.test(file));
}

function groupOf(file: string): TestGroup {
  const sources = sourcesOf(file);
  const hasText = (pattern: RegExp): boolean => [...sources.values()].some((text) => pattern.test(text));
  if (sources.has(SECURED_KAFKA)) return 'secured';
  if (hasText(/\binject\(/)) return 'kafka';
  return hasText(/'node:child_process'|\bstartEngine\(|\bgetActiveResourcesInfo\(/) ? 'processes' : 'pure';
}

/** The file and what it imports of tests and proofs, with their texts. */
function sourcesOf(file: string, known = new Map<string, string>()): Map<string, string> {
  if (known.has(file) || !FOLDERS.some((folder) => file.startsWith(join(ROOT, folder)))) return known;
  const text = readFileSync(file, 'utf8');
  known.set(file, text);
  for (const [, from = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+)'/gm))
    sourcesOf(join(dirname(file), from), known);
  return known;
}
