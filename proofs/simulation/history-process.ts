/**
 * Runs histories in child processes: up to one per core, and one per mutation, because a process loads a module only once.
 * Run as a program, this file is the child: its arguments hold the task, and it sends its summary to the parent.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { COMPILE_CACHE } from '../../dev/compile-cache.ts';
import { applyChange, type Change } from './mutations.ts';
import { runHistories, type RunOptions, type Summary } from './run-histories.ts';

export type Task = Omit<RunOptions, 'trace' | 'onHistory'> & {
  readonly mutation: Change | null;
};

type Report = { kind: 'progress'; histories: number } | { kind: 'over'; summary: Summary };

const PROGRESS_HISTORIES = 10;

/** @param onProgress receives how many histories are over */
export function runApart(task: Task, onProgress: (histories: number) => void): Promise<Summary> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
    const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(task)], { env });
    child.on('message', (report: Report) => {
      if (report.kind === 'progress') {
        onProgress(report.histories);
        return;
      }
      resolve(report.summary);
      child.disconnect();
    });
    child.on('exit', (code, signal) => reject(new Error(`the process of histories ended with ${code ?? signal}`)));
  });
}

async function main(task: Task): Promise<void> {
  if (task.mutation !== null) applyChange(task.mutation);
  const send = (report: Report): void => void process.send?.(report);
  const summary = await runHistories({
    ...task,
    onHistory: ({ histories }) => {
      if (histories % PROGRESS_HISTORIES === 0) send({ kind: 'progress', histories });
    },
  });
  // Exiting at once could lose a long summary, so wait until the parent has it.
  const taken = once(process, 'disconnect');
  send({ kind: 'over', summary });
  await taken;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(JSON.parse(process.argv[2] ?? '') as Task);
