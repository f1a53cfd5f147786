/**
 * The examples made ready to run, by language. What is fetched and built is kept beside the engine's downloads, in a
 * folder for each content of the example (`$PAYMENT_PROCESSOR_CACHE` or ~/.cache/payment-processor, below examples).
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { InstalledClient } from '../../../packages/client/test/installed-client.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
/** Of a first build, whose packages are fetched. */
const BUILD_MS_MAX = 280_000;
const VERSION_MS_MAX = 30_000;

export interface Program {
  file: string;
  arguments: readonly string[];
  /** The example's own folder, unless its packages are elsewhere. */
  folder: string;
}

export interface Example {
  publish: Program;
  subscribe: Program;
  /** Where there is one: it follows a payment by its command's key alone. */
  follow?: Program;
  remove?: () => Promise<void>;
}

export interface Toolchain {
  language: string;
  /** Exit code of a subscriber that was sent SIGTERM and ended in order; a JVM says 128 + 15 itself. */
  stoppedCode: 0 | 143;
  /** Whether one of its programs follows a payment. */
  follows: boolean;
  /** Fetches the packages and builds; rejects where the toolchain is not there. */
  prepare: () => Promise<Example>;
}

const sourceOf = (language: string): string => join(ROOT, 'examples', language);

/** Runs a build once for each content of the example; a folder is complete or not there. */
async function built(language: string, build: (folder: string) => Promise<unknown>): Promise<string> {
  const source = sourceOf(language);
  const digest = createHash('sha256');
  for (const file of globSync('**/*', { cwd: source }).sort()) {
    if (statSync(join(source, file)).isFile()) digest.update(`${file}\n`).update(readFileSync(join(source, file)));
  }
  const given = process.env['PAYMENT_PROCESSOR_CACHE'] ?? '';
  const cache = join(given === '' ? join(homedir(), '.cache', 'payment-processor') : given, 'examples');
  const folder = join(cache, `${language}-${digest.digest('hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(join(cache, `${language}-unfinished-`));
  try {
    await build(unfinished);
    // Another process may have been quicker, with the same.
    await rename(unfinished, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return folder;
}

/** On the PATH, or where Go's own installer puts it. */
async function findGo(): Promise<string> {
  const timeout = VERSION_MS_MAX;
  return run('go', ['version'], { timeout }).then(
    () => 'go',
    () => '/usr/local/go/bin/go',
  );
}

/** A virtual environment with the pinned packages. It knows its own path, so it is made where it stays. */
async function pythonEnvironment(): Promise<string> {
  const environment = join(await built('python', async () => undefined), 'venv');
  if (existsSync(join(environment, 'complete'))) return environment;
  await run('python3', ['-c', 'import sqlite3, sys; assert sys.version_info >= (3, 10), "Python 3.10 is needed"']);
  await run('python3', ['-m', 'venv', '--clear', environment], { timeout: BUILD_MS_MAX });
  const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '-r', 'requirements.txt'];
  await run(join(environment, 'bin', 'python'), install, { cwd: sourceOf('python'), timeout: BUILD_MS_MAX });
  await mkdir(join(environment, 'complete'));
  return environment;
}

export const TOOLCHAINS: readonly Toolchain[] = [
  {
    language: 'typescript',
    stoppedCode: 0,
    follows: true,
    prepare: async () => {
      const project = await InstalledClient.install();
      for (const file of globSync('*.ts', { cwd: sourceOf('typescript') })) {
        await cp(join(sourceOf('typescript'), file), join(project.folder, file));
      }
      const program = (name: string): Program => ({
        file: process.execPath,
        arguments: [`${name}.ts`],
        folder: project.folder,
      });
      return {
        publish: program('publish'),
        subscribe: program('subscribe'),
        follow: program('follow'),
        remove: () => project.remove(),
      };
    },
  },
  {
    language: 'java',
    stoppedCode: 143,
    follows: false,
    prepare: async () => {
      const folder = await built('java', (target) =>
        run('mvn', ['--batch-mode', '--quiet', `-Dtarget.directory=${target}`, 'process-classes'], {
          cwd: sourceOf('java'),
          timeout: BUILD_MS_MAX,
        }),
      );
      const classPath = `${join(folder, 'classes')}:${join(folder, 'lib')}/*`;
      const program = (name: string): Program => ({
        file: 'java',
        arguments: ['-cp', classPath, `example.${name}`],
        folder: sourceOf('java'),
      });
      return { publish: program('Publish'), subscribe: program('Subscribe') };
    },
  },
  {
    language: 'python',
    stoppedCode: 0,
    follows: true,
    prepare: async () => {
      const python = join(await pythonEnvironment(), 'bin', 'python');
      const program = (name: string): Program => ({
        file: python,
        arguments: ['-u', `${name}.py`],
        folder: sourceOf('python'),
      });
      return { publish: program('publish'), subscribe: program('subscribe'), follow: program('follow') };
    },
  },
  {
    language: 'go',
    stoppedCode: 0,
    follows: false,
    prepare: async () => {
      const go = await findGo();
      const folder = await built('go', (target) =>
        run(go, ['build', '-buildvcs=false', '-o', `${target}/`, './...'], {
          cwd: sourceOf('go'),
          timeout: BUILD_MS_MAX,
        }),
      );
      const program = (name: string): Program => ({
        file: join(folder, name),
        arguments: [],
        folder: join(tmpdir()),
      });
      return { publish: program('publish'), subscribe: program('subscribe') };
    },
  },
];
