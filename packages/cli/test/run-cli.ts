/** Runs the command line: as a process of its own, as its users do, or quicker in a process for many runs. */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseLossless, type JsonObject } from 'payment-processor-contract/lossless-json';
import { childEnvironment } from '../../../test/support/child-environment.ts';
import type { HostedRun, Told } from './cli-host.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** A command that hangs fails its test by this, and leaves no process behind. */
const RUN_MS_MAX = 45_000;
const LOOK_MS = 20;

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
  const written = { stdout: '', stderr: '' };
  let isRunning = true;
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => void (written[stream] += text));
  const ended = new Promise<CliRun>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      isRunning = false;
      resolve({ code, ...written, documents: documentsOf(written.stdout) });
    });
  });
  return {
    ended,
    interrupt: () => void child.kill('SIGINT'),
    seen: async (text) => {
      while (!`${written.stdout}${written.stderr}`.includes(text)) {
        if (!isRunning) throw new Error(`ended without ${text}: ${written.stdout}${written.stderr}`);
        await delay(LOOK_MS);
      }
    },
  };
}

const HOST = fileURLToPath(new URL('cli-host.ts', import.meta.url));
/** Without a run now. They end with this process, for the channel to it closes. */
const idleHosts: ChildProcess[] = [];

/** What it says and its exit code, where the process itself is not in question. */
export function runCli(environment: Record<string, string>, ...args: string[]): Promise<CliRun> {
  // Node reads these as it starts.
  if (Object.keys(environment).some((name) => name.startsWith('NODE_'))) return startCli(environment, ...args).ended;
  const host = idleHosts.pop() ?? fork(HOST, { env: childEnvironment(), stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  host.ref();
  host.channel?.ref();
  const written = { stdout: '', stderr: '' };
  return new Promise((resolve) => {
    const end = (code: number | null): void => {
      clearTimeout(timer);
      host.removeAllListeners();
      host.unref();
      host.channel?.unref();
      resolve({ code, ...written, documents: documentsOf(written.stdout) });
    };
    const timer = setTimeout(() => host.kill('SIGKILL'), RUN_MS_MAX);
    host.once('exit', end);
    host.on('message', (told: Told) => {
      if (told.kind === 'wrote') written[told.stream] += told.text;
      else {
        end(told.code);
        idleHosts.push(host);
      }
    });
    host.send({ environment: { ...childEnvironment(), ...environment }, words: args } satisfies HostedRun);
  });
}

function documentsOf(stdout: string): JsonObject[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => parseLossless(line) as JsonObject);
}
