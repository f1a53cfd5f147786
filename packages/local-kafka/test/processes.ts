/** Scripts run as processes of their own, and what the tests want to know of them and of the servers they start. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const GONE_POLL_MS = 20;
const GONE_MS_MAX = 10_000;

export interface Script {
  readonly child: ChildProcess;
  /** Lines of standard output, as they come. */
  readonly lines: AsyncIterableIterator<string>;
  readonly errorText: () => string;
  /** Exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
}

/** @param file relative to this folder, or a file's URL */
export function runScript(file: string, words: readonly string[] = [], environment: NodeJS.ProcessEnv = {}): Script {
  const child = spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url)), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  return {
    child,
    lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
    errorText: () => errors,
    ended,
  };
}

/** The next line that is JSON; lines before it are passed over. */
export async function nextJsonLine<Value>(script: Script): Promise<Value> {
  for (;;) {
    const next = await script.lines.next();
    if (next.done === true) throw new Error(`The script ended without a JSON line: ${script.errorText()}`);
    if (next.value.startsWith('{')) return JSON.parse(next.value) as Value;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when all are gone; rejects when one still lives long after. */
export async function gone(pids: readonly number[]): Promise<void> {
  const startedAtMs = performance.now();
  while (pids.some(isAlive)) {
    if (performance.now() - startedAtMs > GONE_MS_MAX)
      throw new Error(`Still alive: ${pids.filter(isAlive).join(', ')}`);
    await sleep(GONE_POLL_MS);
  }
}

/** As a truth, for a failed comparison would print the whole log. */
export async function logContains(directory: string, log: string, text: string): Promise<boolean> {
  return (await readFile(join(directory, 'logs', log), 'utf8')).includes(text);
}
