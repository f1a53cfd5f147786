/**
 * A child process that runs histories, one task at a time, so that several cores do. Run as a program, this file is the child:
 * its argument names the mutations that its tasks may have.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { COMPILE_CACHE } from '../../dev/compile-cache.ts';
import { MutatedSources } from './mutated-sources.ts';
import { runHistories, type RunOptions, type Summary } from './run-histories.ts';

export type Task = Omit<RunOptions, 'trace' | 'onHistory'> & {
  /** The name of a mutation; null: none. */
  readonly mutation: string | null;
};

type Report = { kind: 'progress'; histories: number } | { kind: 'over'; summary: Summary };

const PROGRESS_HISTORIES = 10;

export class HistoryProcess {
  readonly #child: ChildProcess;

  constructor(mutations: readonly string[]) {
    const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
    this.#child = fork(fileURLToPath(import.meta.url), [JSON.stringify(mutations)], { env });
  }

  /** @param onProgress receives how many histories are over. @throws if the process ends before the task does */
  run(task: Task, onProgress: (histories: number) => void = () => undefined): Promise<Summary> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null, signal: string | null): void =>
        reject(new Error(`the process of histories ended with ${code ?? signal}`));
      const onMessage = (report: Report): void => {
        if (report.kind === 'progress') {
          onProgress(report.histories);
          return;
        }
        child.off('exit', onExit).off('message', onMessage);
        resolve(report.summary);
      };
      child.on('exit', onExit).on('message', onMessage);
      child.send(task);
    });
  }

  end(): void {
    this.#child.disconnect();
  }
}

async function runTask(task: Task, sources: MutatedSources): Promise<void> {
  const send = (report: Report): void => void process.send?.(report);
  sources.apply(task.mutation);
  const summary = await runHistories({
    ...task,
    onHistory: ({ histories }) => {
      if (histories % PROGRESS_HISTORIES === 0) send({ kind: 'progress', histories });
    },
  });
  send({ kind: 'over', summary });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = new MutatedSources(JSON.parse(process.argv[2] ?? '[]') as string[]);
  process.on('message', (task: Task) => void runTask(task, sources));
  process.on('disconnect', () => process.exit());
}
