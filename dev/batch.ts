/**
 * Runs programs one after the other for hours, each with its own log and time limit, and prints one table.
 *
 * Each part: started -> ended by itself, or at its limit: SIGTERM, then SIGKILL for all that it started. If this process
 * dies, the part dies with it.
 */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { logTail, startProcess } from 'payment-processor-local-kafka/supervised-process';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const MINUTE_MS = 60_000;
/** What a part's brokers and processors need to stop at its limit. */
const GRACE_MS = 30_000;

export interface Part {
  readonly name: string;
  /** What it proves, in a few words. */
  readonly title: string;
  /** Program and arguments; started in the root of the repository, with this Node first on the PATH. */
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly limitMinutes: number;
}

export interface PartEnd {
  readonly name: string;
  readonly title: string;
  readonly verdict: 'held' | 'fell';
  /** For a part that failed. */
  readonly reason: string | null;
  readonly seconds: number;
  readonly log: string;
}

export interface BatchOptions {
  /** Names of parts; null: all. */
  readonly only: readonly string[] | null;
  /** Folder for the logs; null: a new temporary one. */
  readonly logs: string | null;
}

export const BATCH_USAGE = `  --only A,B          only these
  --logs DIR          folder for the logs (default: a new temporary one)
  --help              this text
`;

/**
 * @param numbers more options that take a whole number above 0
 * @returns null if help is requested
 * @throws RangeError, TypeError that name the problem
 */
export function readBatchWords<Name extends string>(
  args: string[],
  numbers: readonly Name[],
): (BatchOptions & { numbers: Partial<Record<Name, number>> }) | null {
  const text = { type: 'string' } as const;
  const options = { only: text, logs: text, help: { type: 'boolean' } } as const;
  const others = Object.fromEntries(numbers.map((name) => [name, text]));
  const values = parseArgs({ args, options: { ...others, ...options } }).values as Record<string, string | undefined>;
  if (values['help'] !== undefined) return null;
  const given = numbers.flatMap((name): [string, number][] => {
    const digits = values[name];
    if (digits === undefined) return [];
    const value = /^\d{1,9}$/.test(digits) ? Number(digits) : 0;
    if (value < 1) throw new RangeError(`--${name} must be a whole number above 0, not ${digits}.`);
    return [[name, value]];
  });
  return {
    only: values['only']?.split(',').filter((name) => name !== '') ?? null,
    logs: values['logs'] ?? null,
    numbers: Object.fromEntries(given) as Partial<Record<Name, number>>,
  };
}

/** @throws RangeError that names the unknown ones */
export function chosenParts<Named extends { readonly name: string }>(
  parts: readonly Named[],
  only: readonly string[] | null,
): Named[] {
  if (only === null) return [...parts];
  const names = parts.map(({ name }) => name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new RangeError(`--only ${unknown.join(',')}: not among ${names.join(', ')}.`);
  return parts.filter(({ name }) => only.includes(name));
}

/** A folder for the logs. */
export async function logFolder(logs: string | null, prefix: string): Promise<string> {
  if (logs === null) return mkdtemp(join(tmpdir(), prefix));
  await mkdir(logs, { recursive: true });
  return resolve(logs);
}

/** Runs one part to its end, or to its limit. */
async function runPart(part: Part, folder: string): Promise<PartEnd> {
  const log = join(folder, `${part.name}.log`);
  const startedAtMs = performance.now();
  const [program = '', ...words] = part.command;
  const running = await startProcess({
    title: part.title,
    program,
    arguments: words,
    logFile: log,
    workingDirectory: ROOT,
    environment: {
      ...process.env,
      PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      ...part.environment,
    },
  });
  const late = new AbortController();
  const limit = setTimeout(() => {
    late.abort();
    void running.end(GRACE_MS);
  }, part.limitMinutes * MINUTE_MS);
  const code = await running.ended;
  clearTimeout(limit);
  const isLate = late.signal.aborted;
  if (isLate) await running.killAll();
  const reason = isLate ? `longer than ${part.limitMinutes} min` : code === 0 ? null : `exit code ${code}`;
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  return { name: part.name, title: part.title, verdict: reason === null ? 'held' : 'fell', reason, seconds, log };
}

/** Prints how each part ended, and the last lines of the log if it failed. */
export async function runParts(
  parts: readonly Part[],
  folder: string,
  onProgress: (line: string) => void,
): Promise<PartEnd[]> {
  const ends: PartEnd[] = [];
  for (const part of parts) {
    onProgress(`${part.name}: ${part.title}; log in ${join(folder, `${part.name}.log`)}`);
    const end = await runPart(part, folder);
    ends.push(end);
    onProgress(`${part.name}: ${end.reason === null ? 'held' : `FELL (${end.reason})`} after ${end.seconds} s`);
    if (end.verdict === 'fell') onProgress(await logTail(end.log));
  }
  return ends;
}
