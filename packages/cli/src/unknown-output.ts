/** A result that is UNKNOWN as an operator wants it: which payment, since when, why, and the commands that come next. Pure. */
import { commandLine } from 'payment-processor-contract/command-line';
import type { Entry } from '../../../src/ledger/entry.ts';
import { keptFields } from '../../../src/ledger/kept-fields.ts';
import type { CommandError } from 'payment-processor-contract/types';
import { ageText } from './age-text.ts';
import { isoOf } from './event-output.ts';
import { maskedText } from './masking.ts';
import type { UnknownResult } from './unknown-results.ts';

/** The service's clock may be another. */
const LOOK_BEFORE_MS = 3_600_000;
const PLAIN_WORD = /^[\w.:/@%+=,-]+$/;

/** @param error of the result; null where it could not be read */
export function unknownDocument(unknown: UnknownResult, error: CommandError | null, nowMs: number): object {
  const { completedMs, entry, lane } = unknown;
  return {
    key: entry.key,
    command: entry.commandType,
    lane,
    transactionId: transactionIdOf(entry),
    quoteId: quoteIdOf(entry),
    firstCall: entry.firstSentMs === null ? null : isoOf(entry.firstSentMs),
    calls: entry.attempts,
    completed: isoOf(completedMs),
    ageSeconds: ageSeconds(completedMs, nowMs),
    revision: entry.revision,
    code: error?.code ?? null,
    problem: error === null ? null : maskedText(error.message),
    next: nextCommands(entry),
  };
}

/** @param error of the result; null where it could not be read */
export function unknownText(unknown: UnknownResult, error: CommandError | null, nowMs: number): string[] {
  const { completedMs, entry, lane } = unknown;
  const firstCall = entry.firstSentMs === null ? 'not known' : isoOf(entry.firstSentMs);
  const { look, resolve, show } = nextCommands(entry);
  const facts = [
    entry.commandType,
    `transaction ${transactionIdOf(entry) ?? 'not known'}`,
    `first call ${firstCall}`,
    `UNKNOWN for ${ageText(ageSeconds(completedMs, nowMs))}`,
    `lane ${lane}`,
  ];
  return [
    [entry.key, ...facts].join('  '),
    ...(error === null ? [] : [`  ${error.code}: ${maskedText(error.message)}`]),
    `  ${show}`,
    `  ${look}`,
    `  ${resolve}`,
  ];
}

/** Lines to copy. What an operator has to find out stands in words that no tool takes: as it is, `resolve` decides nothing. */
function nextCommands(entry: Entry): { show: string; look: string; resolve: string } {
  const cli = commandLine(process.env);
  const key = shellWord(entry.key);
  const since = isoOf((entry.firstSentMs ?? entry.origin.timestampMs) - LOOK_BEFORE_MS);
  const decision = `--decision 'EXECUTED, NOT_EXECUTED or RETRY' --expected-revision ${entry.revision}`;
  return {
    show: `${cli} show ${key}`,
    look: `${cli} transactions list --all --start-date ${since}`,
    resolve: `${cli} resolve ${key} ${decision} --reason 'what was found'`,
  };
}

/** The transaction that the command is about, or whose quote it made; null: no answer named one. */
function transactionIdOf(entry: Entry): string | null {
  const rejected = entry.commandType === 'reject-transaction' ? keptFields('reject-transaction', entry) : null;
  return entry.quoted?.transactionId ?? executionOf(entry)?.transactionId ?? rejected?.transactionId ?? null;
}

function quoteIdOf(entry: Entry): string | null {
  return entry.quoted?.quoteId ?? executionOf(entry)?.quoteId ?? null;
}

function executionOf(entry: Entry) {
  return entry.commandType === 'execute-quote' ? keptFields('execute-quote', entry) : null;
}

/** Instants are the processor's; one ahead of our clock is no negative age. */
function ageSeconds(sinceMs: number, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - sinceMs) / 1000));
}

/** One word for a shell: keys may hold any character but blanks. */
function shellWord(text: string): string {
  return PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
