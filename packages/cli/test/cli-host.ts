/**
 * The command line for one run after the other, loaded once: loading is three quarters of what most runs take on processors.
 * Each run comes as a message and has its own environment; what it writes goes back as it writes it, its exit code at the end.
 */
import { runCommand } from '../src/program.ts';

export interface HostedRun {
  readonly environment: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

export type Told = { kind: 'wrote'; stream: 'stdout' | 'stderr'; text: string } | { kind: 'ended'; code: number };

const tell = (told: Told): void => void process.send?.(told);
for (const stream of ['stdout', 'stderr'] as const) {
  process[stream].write = (text: string | Uint8Array): boolean => {
    tell({ kind: 'wrote', stream, text: text.toString() });
    return true;
  };
}
// As Node does; its own way around what is written would be lost.
process.on('uncaughtException', ({ stack = '' }) => {
  process.send?.({ kind: 'wrote', stream: 'stderr', text: stack } satisfies Told, () => process.exit(1));
});
process.on('message', ({ environment, words }: HostedRun) => {
  process.env = { ...environment };
  void runCommand(words).then((code) => tell({ kind: 'ended', code }));
});
// A run may have left a connection that keeps its process alive.
process.on('disconnect', () => process.exit());
