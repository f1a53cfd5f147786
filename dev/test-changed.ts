/**
 * Checks and tests what a change touches, in less than a minute: format, lint and types, and the in-process tests that
 * import it. Tests with processes or Kafka run only if they themselves have changed or are named.
 *
 *   npm run test:changed                     what is changed since the last commit
 *   npm run test:changed -- --since main     ... since another one
 *   npm run test:changed -- packages/cli/test/show    and these tests, whatever they need
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { testFiles } from '../test/support/test-groups.ts';

interface Step {
  readonly title: string;
  readonly words: readonly string[];
}

const { positionals: named, values } = parseArgs({
  options: { since: { type: 'string', default: 'HEAD' } },
  allowPositionals: true,
});

function git(...words: readonly string[]): string[] {
  return execFileSync('git', words, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

const changed = [
  ...git('diff', '--name-only', '--relative', values.since),
  ...git('ls-files', '--others', '--exclude-standard'),
].filter((file) => existsSync(file));

function stepsOf(files: readonly string[]): Step[] {
  const sources = files.filter((file) => /\.(ts|js|cjs)$/.test(file));
  // A changed configuration would run everything.
  const imported = sources.filter((file) => /^(src|packages|dev|test|proofs)\//.test(file));
  const { kafka, processes, secured } = testFiles();
  const withOthers = [...processes, ...kafka, ...secured].filter(
    (file) => files.includes(file) || named.some((name) => file.includes(name)),
  );
  return [
    { title: 'format', words: ['prettier', '--check', '--ignore-unknown', ...files] },
    { title: 'lint', words: ['eslint', '--no-warn-ignored', ...sources] },
    { title: 'types', words: ['tsc', '-p', '.', '--noEmit', '--incremental', '--tsBuildInfoFile', TYPES_KEPT] },
    { title: 'tests of it', words: ['vitest', 'related', '--run', '--project', 'pure', ...PASS, ...imported] },
    ...(withOthers.length > 0 ? [{ title: 'tests with processes', words: ['vitest', 'run', ...withOthers] }] : []),
  ].filter(({ title }) => sources.length > 0 || title === 'format' || title === 'tests with processes');
}

const TYPES_KEPT = 'node_modules/.cache/types.tsbuildinfo';
const PASS = ['--passWithNoTests'];

/** Shows its output in one piece. @returns its exit code */
function run({ title, words }: Step): Promise<number> {
  const beganMs = performance.now();
  const child = spawn('npx', ['--no-install', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => output.push(bytes));
  return new Promise((resolve) => {
    child.once('close', (code) => {
      const seconds = ((performance.now() - beganMs) / 1000).toFixed(0);
      console.log(`--- ${title}: ${code === 0 ? 'ok' : 'FAILED'} after ${seconds} s`);
      if (code !== 0 || title.startsWith('tests')) process.stdout.write(Buffer.concat(output));
      resolve(code ?? 1);
    });
  });
}

if (changed.length === 0 && named.length === 0) console.log(`nothing is changed since ${values.since}`);
else process.exitCode = Math.max(...(await Promise.all(stepsOf(changed).map(run))));
