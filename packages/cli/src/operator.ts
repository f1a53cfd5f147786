/** The operator's name and confirmation for a decision, hold or redrive. */
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { CliFailure, unsent } from './exit-codes.ts';

/**
 * In a pod the system's user does not name a person.
 * @param flag the value of `--operator`
 * @throws CliFailure if no name is given and the system has none for its user
 */
export function operatorName(flag: string | undefined): string {
  if (flag !== undefined) return flag;
  const fromEnvironment = process.env['PAYMENTS_OPERATOR'] ?? '';
  if (fromEnvironment !== '') return fromEnvironment;
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id without a name.
    throw new CliFailure(
      'usage',
      'the operating system has no name for this user: give --operator, or set PAYMENTS_OPERATOR',
    );
  }
}

/**
 * @param texts by option name
 * @throws CliFailure for a text that the processor does not accept
 */
export function checkTexts(texts: Readonly<Record<string, string>>, lengthMax: number): void {
  for (const [name, text] of Object.entries(texts)) {
    if (text.trim() === '' || text.length > lengthMax)
      throw unsent('usage', `--${name} must have 1 to ${lengthMax} characters`);
  }
}

export interface Confirmation {
  /** `--yes`: do not ask. */
  yes: boolean;
  /** What to do without a terminal. */
  withoutTerminal: 'go-on' | 'decline';
}

/** Whether a person can answer at a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks at a terminal before something is sent.
 * @throws CliFailure if the answer is not yes, or confirmation is required and there is no terminal
 */
export async function confirm(question: string, { yes, withoutTerminal }: Confirmation): Promise<void> {
  if (yes) return;
  if (!canAsk()) {
    if (withoutTerminal === 'go-on') return;
    throw new CliFailure('declined', 'nothing was sent: without a terminal to ask for confirmation, --yes is required');
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
