/**
 * The processor as a process of its own, as it runs in production: `npm start`, settings from the environment.
 *
 * Stages: started -> ready (`/health/ready` answers 200) -> (stop) SIGTERM, SIGKILL after a while -> ended. It cannot
 * outlive the demo, in whatever way that ends (dev/engine/supervised-process.ts).
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SETTINGS } from '../../src/config.ts';
import { LOOPBACK } from '../engine/ports.ts';
import { startArguments } from '../start-command.ts';
import { logTail, startProcess, type SupervisedProcess } from '../engine/supervised-process.ts';
import { SetUpError } from './set-up-error.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TITLE = 'The processor';

/** It takes two to five seconds, on a loaded machine several times that. */
const READY_MS_MAX = 90_000;
const READY_POLL_MS = 100;
const PROBE_MS_MAX = 2_000;
/** With no call under way it ends well within a second. */
const STOP_MS_MAX = 10_000;

export interface ProcessorOptions {
  /** Settings by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** Settings that are taken from this process's environment; every other is the default. */
  readonly inherited: readonly string[];
  readonly httpPort: number;
  /** For its log and its local store. */
  readonly directory: string;
}

export interface Processor {
  readonly pid: number;
  readonly url: string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  stop(): Promise<void>;
}

export function processorLog(directory: string): string {
  return join(directory, 'processor.log');
}

/**
 * @returns when it is ready to take commands
 * @throws {SetUpError} with the end of its log, when it ends or does not become ready
 */
export async function startProcessor(options: ProcessorOptions): Promise<Processor> {
  const given = {
    ...options.settings,
    STATE_DIR: join(options.directory, 'state'),
    HTTP_HOST: LOOPBACK,
    HTTP_PORT: String(options.httpPort),
  };
  // What the user's shell has set for another processor must not reach this one.
  const removed = Object.keys(SETTINGS)
    .filter((name) => !options.inherited.includes(name))
    .flatMap((name) => [name, `${name}_FILE`])
    .flatMap((name) => ['-u', name]);
  const child = await startProcess({
    title: TITLE,
    program: 'env',
    arguments: [
      ...removed,
      ...Object.entries(given).map(([name, value]) => `${name}=${value}`),
      process.execPath,
      ...startArguments(),
    ],
    logFile: processorLog(options.directory),
    workingDirectory: ROOT,
  });
  const url = `http://${LOOPBACK}:${options.httpPort}`;
  try {
    await waitUntilReady(child, `${url}/health/ready`);
  } catch (error) {
    await child.end(0);
    throw error;
  }
  return { pid: child.pid, url, ended: child.ended, stop: () => child.end(STOP_MS_MAX) };
}

async function waitUntilReady(child: SupervisedProcess, url: string): Promise<void> {
  const startedAtMs = performance.now();
  let answer = 'no answer';
  while (performance.now() - startedAtMs < READY_MS_MAX) {
    if (child.hasEnded()) throw await failure(child, `ended with code ${await child.ended} before it was ready`);
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS_MAX) });
      answer = `${response.status} ${await response.text()}`;
      if (response.ok) return;
    } catch {
      // Not listening yet.
    }
    await sleep(READY_POLL_MS);
  }
  throw await failure(child, `was not ready within ${READY_MS_MAX / 1000} s (${url}: ${answer})`);
}

async function failure(child: SupervisedProcess, what: string): Promise<SetUpError> {
  return new SetUpError(
    `${TITLE} ${what}. Its log is ${child.logFile}; the last lines:\n${await logTail(child.logFile)}`,
  );
}
