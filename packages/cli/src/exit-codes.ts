/** The exit codes of the command line: one table, for scripts and for the documentation. */
import { EXIT_CODE_CONFIG } from 'payment-processor-contract/config';
import { shownLine } from './output.ts';

export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done; an awaited command was ACCEPTED, a decision carried out' },
  failed: {
    code: 1,
    meaning: 'failed: Kafka, the registry or the service did not answer, refused, or was not read in full',
  },
  usage: { code: 2, meaning: 'the command line or the command it describes is wrong; nothing was sent' },
  notFound: { code: 3, meaning: 'the requested object does not exist' },
  notAccepted: {
    code: 4,
    meaning: 'the awaited command did not end ACCEPTED; the result is on standard output',
  },
  noResult: {
    code: 5,
    meaning:
      'the command, decision or hold was published, or may have been, but no result or confirmation came in time',
  },
  problemsFound: { code: 6, meaning: 'a check found problems; each is listed' },
  refused: {
    code: 7,
    meaning: 'the decision, redrive, acknowledgement, hold or release was refused; the reason is on standard error',
  },
  declined: { code: 8, meaning: 'not confirmed; nothing was sent' },
  settings: { code: EXIT_CODE_CONFIG, meaning: 'a setting is missing or wrong; every problem is listed' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type ExitReason = keyof typeof EXIT_CODES;

/** A failure that the user caused or can fix: only its message is shown, without a stack. */
export class CliFailure extends Error {
  readonly reason: ExitReason;
  /** Safe to show; a line break within a line is escaped, because it may be a publisher's. */
  readonly lines: readonly string[];
  constructor(reason: ExitReason, message: string | readonly string[]) {
    const lines = [message].flat().map(shownLine);
    super(lines.join('\n'));
    this.name = 'CliFailure';
    this.reason = reason;
    this.lines = lines;
  }
}

/** A failure before anything was sent; its message says so. */
export function unsent(reason: ExitReason, why: string): CliFailure {
  return new CliFailure(reason, `${why}; nothing was sent`);
}

/** The table as text for the help. */
export function exitCodeTable(): string {
  const rows = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padEnd(4)}${meaning}`);
  return `Exit codes:\n${rows.join('\n')}`;
}
