/**
 * A child process that cannot outlive this one.
 *
 * Stages: started (the supervisor has reported the process id) -> running or paused -> ended. The supervisor (supervise.sh)
 * owns the program; this side owns the write end of the supervisor's standard input. Nothing here listens to signals or to
 * 'exit': however this process ends, the pipe closes and the supervisor kills the program. Both run in a session of their
 * own, so a Ctrl-C in the terminal reaches only this process, which then decides the order of shutdown.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EngineError } from './errors.ts';

const SUPERVISOR = fileURLToPath(new URL('supervise.sh', import.meta.url));

/** Enough to show a Java stack trace with its cause. */
const LOG_TAIL_LINES = 30;

interface ProcessCommand {
  /** Name for messages. */
  readonly title: string;
  readonly program: string;
  readonly arguments: readonly string[];
  /** Receives standard output and standard error, appended. */
  readonly logFile: string;
  readonly workingDirectory: string;
  /** Default: this process's own. */
  readonly environment?: NodeJS.ProcessEnv;
}

export interface SupervisedProcess {
  readonly title: string;
  /** Process id of the program, not of its supervisor. */
  readonly pid: number;
  readonly logFile: string;
  /** Resolves with the exit code, 128 + n after signal n; -1 if the supervisor was killed. */
  readonly ended: Promise<number>;
  hasEnded(): boolean;
  /** Does nothing if the program has ended. */
  signal(name: NodeJS.Signals): void;
  /** Wakes it if paused, then SIGTERM, and SIGKILL after graceMs; 0: SIGKILL at once. Resolves once the program is gone. */
  end(graceMs: number): Promise<void>;
  /** SIGKILL to the program and its descendants, and to the supervisor. */
  killAll(): Promise<void>;
}

/** @throws {EngineError} if not even the supervisor could be started */
export async function startProcess(command: ProcessCommand): Promise<SupervisedProcess> {
  const supervisor = spawn('/bin/sh', [SUPERVISOR, command.logFile, command.program, ...command.arguments], {
    cwd: command.workingDirectory,
    env: command.environment ?? process.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // We write nothing, so a broken pipe only shows that the supervisor has ended, which 'exit' reports too.
  supervisor.stdin.on('error', () => undefined);
  let hasEnded = false;
  const ended = new Promise<number>((resolve) => {
    supervisor.once('exit', (code) => {
      hasEnded = true;
      resolve(code ?? -1);
    });
    supervisor.once('error', () => {
      hasEnded = true;
      resolve(-1);
    });
  });
  const lines = createInterface({ input: supervisor.stdout });
  // Wait for the end of the output, not for the exit: a program may exit before its line is read.
  const firstLine = await Promise.race([
    once(lines, 'line').then(([line]) => Number(line)),
    once(lines, 'close').then(() => Number.NaN),
  ]);
  lines.close();
  if (!Number.isInteger(firstLine) || firstLine <= 1) {
    throw new EngineError(`${command.title} could not be started.`);
  }
  const pid = firstLine;

  const signal = (name: NodeJS.Signals): void => {
    if (hasEnded) return;
    try {
      process.kill(pid, name);
    } catch (error) {
      // It has ended, and the supervisor is about to report it.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };

  return {
    title: command.title,
    pid,
    logFile: command.logFile,
    ended,
    hasEnded: () => hasEnded,
    signal,
    async end(graceMs) {
      if (graceMs > 0) {
        signal('SIGCONT');
        signal('SIGTERM');
        const timer = setTimeout(() => signal('SIGKILL'), graceMs);
        await ended;
        clearTimeout(timer);
      } else {
        signal('SIGKILL');
        await ended;
      }
    },
    async killAll() {
      killGroup(supervisor.pid);
      await ended;
    },
  };
}

/** The supervisor's id: it leads the process group of the program and its descendants. */
function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // The group is empty.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The last lines of a log, indented; a sentence if the log is empty. */
export async function logTail(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  const lines = text.trimEnd().split('\n').slice(-LOG_TAIL_LINES);
  return lines.every((line) => line === '') ? '  (the log is empty)' : lines.map((line) => `  ${line}`).join('\n');
}
