/** Runs the command line as a process of its own, as its users do. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseLossless, type JsonObject } from '../../src/records/lossless-json.ts';
import { childEnvironment } from '../support/child-environment.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** A command that hangs fails its test by this, and leaves no process behind. */
const RUN_MS_MAX = 45_000;

export interface CliRun {
  code: number | null;
  stdout: string;
  stderr: string;
  /** The documents of `--output json`, numbers as they were written. */
  documents: JsonObject[];
}

export interface RunningCli {
  /** Resolves once standard output or standard error holds the text. */
  seen(text: string): Promise<void>;
  interrupt(): void;
  ended: Promise<CliRun>;
}

/** Starts the command line with this environment alone, and the PATH. */
export function startCli(environment: Record<string, string>, ...args: string[]): RunningCli {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...childEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS_MAX,
  });
  let stdout = '';
  let stderr = '';
  const watchers = new Set<() => void>();
  const told = (): void => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    told();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    told();
  });
  const ended = new Promise<CliRun>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr, documents: documentsOf(stdout) }));
  });
  return {
    ended,
    interrupt: () => void child.kill('SIGINT'),
    seen: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!stdout.includes(text) && !stderr.includes(text)) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
        void ended.then(() => reject(new Error(`ended without ${text}: ${stdout}${stderr}`)));
      }),
  };
}

export function runCli(environment: Record<string, string>, ...args: string[]): Promise<CliRun> {
  return startCli(environment, ...args).ended;
}

function documentsOf(stdout: string): JsonObject[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => parseLossless(line) as JsonObject);
}
