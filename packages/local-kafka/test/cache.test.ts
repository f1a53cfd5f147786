/** The cache with a Maven of our own making, which writes down each of its runs and takes its time. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nextJsonLine, runScript, type Script } from './processes.ts';

const MAVEN = `#!/bin/sh
[ "$1" = --version ] && exit 0
echo run >> "$MAVEN_RUNS"
for word in "$@"; do case "$word" in -DoutputDirectory=*) folder=\${word#-DoutputDirectory=} ;; esac; done
echo first > "$folder/first.jar"
sleep "$MAVEN_SECONDS"
[ "$MAVEN_FAILS" = yes ] && echo 'no route to the repository' && exit 1
echo second > "$folder/second.jar"
`;

let directory: string;
let cache: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'engine-test-cache-'));
  cache = join(directory, 'cache');
  await mkdir(join(directory, 'bin'));
  await writeFile(join(directory, 'bin', 'mvn'), MAVEN);
  await chmod(join(directory, 'bin', 'mvn'), 0o755);
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

function install(mavenSeconds: string, environment: NodeJS.ProcessEnv = {}): Script {
  return runScript('install-pin.ts', [], {
    PATH: `${join(directory, 'bin')}:/usr/bin:/bin`,
    PAYMENT_PROCESSOR_CACHE: cache,
    MAVEN_RUNS: join(directory, 'runs'),
    MAVEN_SECONDS: mavenSeconds,
    ...environment,
  });
}

async function mavenRuns(): Promise<number> {
  const text = await readFile(join(directory, 'runs'), 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}

async function expectComplete(folder: string): Promise<void> {
  expect(await readdir(folder)).toEqual(expect.arrayContaining(['complete.json', 'first.jar', 'second.jar']));
}

test('processes that start together download once, and each gets the complete folder', async () => {
  const scripts = [install('0.5'), install('0.5'), install('0.5')];
  for (const script of scripts) await expectComplete((await nextJsonLine<{ folder: string }>(script)).folder);
  expect(await mavenRuns()).toBe(1);
  expect(scripts.filter((script) => script.errorText().includes('Downloading Thing'))).toHaveLength(1);
});

test('a download that was killed half-way is not taken for a complete one, and does not block the next', async () => {
  const killed = install('600');
  while ((await mavenRuns()) === 0) await sleep(20);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const next = install('0');
  await expectComplete((await nextJsonLine<{ folder: string }>(next)).folder);
  expect(await mavenRuns()).toBe(2);
});

test('a download that fails names its log and shows the end of it; the next start tries again', async () => {
  const failed = install('0', { MAVEN_FAILS: 'yes' });
  expect(await failed.ended).toBe(1);
  expect(failed.errorText()).toMatch(
    /Thing could not be downloaded.*maven\.log; the last lines:\s+no route to the repository/s,
  );
  const next = install('0');
  await expectComplete((await nextJsonLine<{ folder: string }>(next)).folder);
});
