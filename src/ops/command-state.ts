/**
 * One command, for a person who has its key: phase, lane, calls, outcome, doubt. Pure. Shows none of the command's fields,
 * masks text from others (invariant I9), and does not repeat the key.
 */
import type { EntryState, Entry } from '../ledger/entry.ts';
import { proofOf } from '../ledger/entry.ts';
import { instantInWords } from '../ledger/time-limit.ts';
import type { CommandType, Outcome } from 'payment-processor-contract/commands';
import { keyProblem } from 'payment-processor-contract/keys';
import type { CommandView } from '../store/ledger-view.ts';
import { jsonReply, type Reply, type RequestHeaders } from './http-server.ts';
import { maskText } from './log-redaction.ts';

/** Carries the key. The URL does not, because proxies log URLs. */
export const KEY_HEADER = 'command-key';

export interface CommandDoubt {
  /** When we sent the first call that may have taken effect. */
  readonly since: string;
  /** By when the last of those calls had ended. */
  readonly lastCallOver: string | null;
  /** Whether the command has a result other than UNKNOWN, which ends the doubt. */
  readonly isSettled: boolean;
  /** What proved that no call took effect; null: nothing did. */
  readonly ruledOutBy: 'LOOK_UP' | 'OPERATOR' | null;
}

export type CommandState =
  | { readonly found: false; readonly lane: number | null; readonly reason: string }
  | {
      readonly found: true;
      readonly lane: number;
      /** Process id of the lane's owner according to the ledger; null: no owner, or unknown. */
      readonly owner: string | null;
      readonly command: CommandType;
      readonly phase: EntryState;
      readonly step: Entry['step'];
      /** Why it waits, or when its call began. */
      readonly detail: string | null;
      /** Null: no result yet. */
      readonly outcome: Outcome | null;
      readonly completed: string | null;
      readonly revision: number;
      /** Calls that may have been sent, not counting one under way. */
      readonly attempts: number;
      readonly published: string;
      /** No call starts after this instant. */
      readonly deadline: string;
      readonly quoteId: string | null;
      readonly transactionId: string | null;
      readonly copiesWaiting: number;
      readonly decisions: number;
      readonly doubt: CommandDoubt | null;
    };

export function commandReply(headers: RequestHeaders, lookUp: (key: string) => CommandView): Reply {
  const given = headers[KEY_HEADER];
  if (typeof given !== 'string') return jsonReply(400, { error: `send the key in the header ${KEY_HEADER}` });
  const problem = keyProblem(given);
  return problem === null ? jsonReply(200, commandState(lookUp(given))) : jsonReply(400, { error: problem });
}

export function commandState(view: CommandView): CommandState {
  switch (view.kind) {
    case 'not-read':
      return {
        found: false,
        lane: null,
        reason:
          'this process has not read the ledger to its end yet, or is stopping: try again, or ask another process',
      };
    case 'unreadable':
      return { found: false, lane: view.lane, reason: view.problem };
    case 'unknown':
      return {
        found: false,
        lane: view.lane,
        reason:
          `the ledger of lane ${view.lane}, read up to offset ${view.nextOffset}, has no such key. The command was never published, is not admitted ` +
          'yet, lies after that offset, or was forgotten after LEDGER_RETENTION',
      };
    case 'known':
      return stateOf(view);
  }
}

function stateOf({ entry, lane, owner }: Extract<CommandView, { kind: 'known' }>): CommandState {
  const { phase, quoted } = entry;
  const isDone = phase.state === 'DONE';
  return {
    found: true,
    lane,
    owner: owner?.processId ?? null,
    command: entry.commandType,
    phase: phase.state,
    step: entry.step,
    detail: detailOf(entry),
    outcome: isDone ? phase.outcome : null,
    completed: isDone ? instantInWords(phase.completedMs) : null,
    revision: entry.revision,
    attempts: entry.attempts,
    published: instantInWords(entry.origin.timestampMs),
    deadline: instantInWords(entry.deadlineMs),
    quoteId: quoted?.quoteId ?? null,
    transactionId: quoted?.transactionId ?? null,
    copiesWaiting: entry.copies.length,
    decisions: entry.audit.length,
    doubt: doubtOf(entry),
  };
}

function detailOf({ phase }: Entry): string | null {
  switch (phase.state) {
    case 'INTENT':
      return `a call may have begun at ${instantInWords(phase.atMs)} or later, with a timeout of ${phase.timeoutMs} ms`;
    case 'PARKED':
      return `next try at ${instantInWords(phase.untilMs)} or later: ${maskText(phase.reason)}`;
    case 'DOUBTFUL':
      return `to be settled at ${instantInWords(phase.settleAtMs)} or later: ${maskText(phase.reason)}`;
    case 'QUOTED':
      return 'the quote is recorded; its execution follows';
    case 'DONE':
      return null;
  }
}

function doubtOf(entry: Entry): CommandDoubt | null {
  if (entry.firstSentMs === null) return null;
  return {
    since: instantInWords(entry.firstSentMs),
    lastCallOver: entry.lastEndedMs === null ? null : instantInWords(entry.lastEndedMs),
    isSettled: entry.phase.state === 'DONE' && entry.phase.outcome !== 'UNKNOWN',
    ruledOutBy: proofOf(entry)?.by ?? null,
  };
}
