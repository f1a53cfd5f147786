/** Asks an operator at a terminal before something is sent. */
import { createInterface } from 'node:readline/promises';
import { CliFailure } from './exit-codes.ts';

export interface Confirmation {
  /** `--yes`: the question is answered already. */
  yes: boolean;
  /** Where there is no terminal to ask at. */
  withoutTerminal: 'go-on' | 'decline';
}

/** @throws CliFailure when the answer is not yes, or nobody can be asked who must be */
export async function confirm(question: string, { yes, withoutTerminal }: Confirmation): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    if (withoutTerminal === 'go-on') return;
    throw new CliFailure('declined', 'nothing was sent: there is no terminal to ask at; confirm with --yes');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-D and Ctrl-C end the question without an answer.
  const closed = new AbortController();
  terminal.once('close', () => closed.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: closed.signal }).catch(() => '');
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure('declined', 'not confirmed; nothing was sent');
  } finally {
    terminal.close();
  }
}
