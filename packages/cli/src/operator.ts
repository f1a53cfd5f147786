/** Who decides, holds or redrives, and whether they mean it. */
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { CliFailure, unsent } from './exit-codes.ts';

/**
 * In a pod the system's user is nobody's name.
 * @param flag what `--operator` says
 * @throws CliFailure where nothing says it, and the system has no name of its user
 */
export function operatorName(flag: string | undefined): string {
  if (flag !== undefined) return flag;
  const fromEnvironment = process.env['PAYMENTS_OPERATOR'] ?? '';
  if (fromEnvironment !== '') return fromEnvironment;
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id that has no name.
    throw new CliFailure(
      'usage',
      'the operating system knows no name of this user: give --operator or PAYMENTS_OPERATOR',
    );
  }
}

/**
 * @param texts by the names of their options
 * @throws CliFailure for one that the processor does not take
 */
export function checkTexts(texts: Readonly<Record<string, string>>, lengthMax: number): void {
  for (const [name, text] of Object.entries(texts)) {
    if (text.trim() === '' || text.length > lengthMax)
      throw unsent('usage', `--${name} must have 1 to ${lengthMax} characters`);
  }
}

export interface Confirmation {
  /** `--yes`: the question is answered already. */
  yes: boolean;
  /** Where there is no terminal to ask at. */
  withoutTerminal: 'go-on' | 'decline';
}

/** Whether there is somebody at a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks at a terminal before something is sent.
 * @throws CliFailure when the answer is not yes, or nobody can be asked who must be
 */
export async function confirm(question: string, { yes, withoutTerminal }: Confirmation): Promise<void> {
  if (yes) return;
  if (!canAsk()) {
    if (withoutTerminal === 'go-on') return;
    throw new CliFailure('declined', 'nothing was sent: there is no terminal to ask at; confirm with --yes');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-D and Ctrl-C end the question without an answer.
  const closed = new AbortController();
  terminal.once('close', () => closed.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: closed.signal }).catch(() => '');
    if (!/^y(es)?$/i.test(answer.trim())) throw unsent('declined', 'not confirmed');
  } finally {
    terminal.close();
  }
}
