/** Decides what to do with an arriving command: an entry with an intent, an answer at once, or a copy of a known one. Pure. */
import type { FieldProblem } from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';
import type { CommandResult } from 'payment-processor-contract/types';
import { UNTOUCHED, type Carried, type Entry, type Origin, type UnphasedEntry } from './entry.ts';
import { conflictResult, expiredResult, invalidResult, unreadableResult } from './result-record.ts';
import { firstCallOf, type LedgerPolicy } from './settlement.ts';
import { timeLimitInWords } from './time-limit.ts';

/** Path of the publisher's time limit in a list of problems. */
export const EXPIRES_AT_PATH = 'headers.expires-at';

/** A command as it was read from its topic, with a usable key. */
export interface Arrival {
  readonly key: string;
  readonly commandType: CommandType;
  readonly fingerprint: string;
  readonly commandId: string | null;
  /** Where it was first published: if it was moved, according to its own headers, which can lie. */
  readonly origin: Origin;
  /** Its present place. */
  readonly place: Origin;
  readonly carried: Carried;
  readonly deadlineMs: number;
  readonly expiresAtMs: number | null;
  readonly content:
    | { kind: 'valid'; fieldsJson: string; fields: object }
    /** Kept for an operator who retries it once the rules or the release have changed. */
    | { kind: 'invalid'; fieldsJson: string; problems: readonly FieldProblem[] }
    /** The bytes could not be read; they go to the dead letters as well. */
    | { kind: 'unreadable'; problem: string };
}

export type Admission =
  /** Same key, same content: the known entry's answer is this message's too. */
  | { kind: 'copy' }
  /** Same key, other content: this message is ignored, and gets a result that says so. */
  | { kind: 'conflict'; result: CommandResult }
  /** Ends without a call. */
  | { kind: 'finish'; entry: UnphasedEntry; result: CommandResult }
  /** Needs a call: `intentOf` gives the entry its first phase. */
  | { kind: 'call'; entry: UnphasedEntry };

export function admit(arrival: Arrival, existing: Entry | undefined, nowMs: number, policy: LedgerPolicy): Admission {
  const entry = newEntry(arrival, policy);
  const { content } = arrival;
  if (existing !== undefined) {
    // An unreadable message cannot prove that it is the same command.
    if (content.kind !== 'unreadable' && existing.fingerprint === arrival.fingerprint) return { kind: 'copy' };
    const message =
      content.kind === 'unreadable'
        ? `an unreadable message (${content.problem}) was ignored. It may have been a copy: its key belongs to a ${existing.commandType} command, whose own result stands`
        : `this ${arrival.commandType} command was ignored: its key belongs to another ${existing.commandType} command, whose own result stands`;
    return { kind: 'conflict', result: conflictResult({ ...entry, revision: 0 }, message, nowMs) };
  }
  switch (content.kind) {
    case 'unreadable':
      return { kind: 'finish', entry, result: unreadableResult(entry, content.problem, nowMs) };
    case 'invalid':
      return { kind: 'finish', entry, result: invalidResult(entry, content.problems, nowMs) };
    case 'valid':
      if (nowMs >= arrival.deadlineMs) {
        const reason = `its time limit (${timeLimitInWords(entry)}) passed before anything was sent`;
        return { kind: 'finish', entry, result: expiredResult(entry, reason, 'PROCESSOR', nowMs) };
      }
      return { kind: 'call', entry };
  }
}

/** The entry of an arrival, still without a phase. */
export function newEntry(arrival: Arrival, policy: LedgerPolicy): UnphasedEntry {
  const { content } = arrival;
  const fields = content.kind === 'valid' ? content.fields : {};
  return {
    key: arrival.key,
    commandType: arrival.commandType,
    revision: 1,
    fingerprint: arrival.fingerprint,
    fieldsJson: content.kind === 'unreadable' ? null : content.fieldsJson,
    commandId: arrival.commandId,
    origin: arrival.origin,
    carried: arrival.carried,
    deadlineMs: arrival.deadlineMs,
    expiresAtMs: arrival.expiresAtMs,
    isExpiryUnreadable: content.kind === 'invalid' && content.problems.some(({ path }) => path === EXPIRES_AT_PATH),
    ...firstCallOf(fields, policy),
    ...UNTOUCHED,
  };
}
