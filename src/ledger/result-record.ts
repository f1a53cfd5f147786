/** Makes the CommandResult of an entry, one function for each way a command can end. */
import type { FieldProblem } from 'payment-processor-contract/command-fields';
import type { Outcome, SettledBy } from 'payment-processor-contract/commands';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { bounded } from '../api/service-error.ts';
import type { CommandError, CommandResult, Transaction } from 'payment-processor-contract/types';
import type { Entry, HeldRefusal } from './entry.ts';
import { shortTexts } from './short-texts.ts';
import type { Verdict } from './verdict.ts';

/** In characters; the body of an answer to a call may have as many bytes. */
const LISTED_LENGTH_MAX = 512 * 1024;

/** Of a status or code in a result's error. */
const CODE_LENGTH_MAX = 200;

/** The status as a result's error shows it. */
export function statusInWords(status: string | null): string {
  return bounded(status ?? 'without a status', CODE_LENGTH_MAX);
}

/** The parts of an entry that its result is made from. */
export type ResultSubject = Pick<
  Entry,
  'key' | 'commandType' | 'commandId' | 'revision' | 'attempts' | 'origin' | 'audit'
>;

export function acceptedResult(
  entry: ResultSubject,
  verdict: Extract<Verdict, { kind: 'accepted' }>,
  nowMs: number,
): CommandResult {
  return {
    ...blankResult(entry, 'ACCEPTED', 'ANSWER', nowMs),
    httpStatus: verdict.httpStatus,
    quote: verdict.quote,
    transaction: verdict.transaction,
    rawResponse: verdict.rawResponse,
    warnings: [...entry.audit, ...verdict.warnings],
  };
}

/** @param settledBy OPERATOR if the answer refuses only the last call: an operator decided that no earlier call took effect */
export function refusedResult(
  entry: ResultSubject,
  refusal: HeldRefusal,
  settledBy: SettledBy,
  nowMs: number,
): CommandResult {
  const { error, httpStatus } = refusal;
  return {
    ...blankResult(entry, 'REFUSED', settledBy, nowMs),
    httpStatus,
    error: { code: error.code ?? `HTTP_${httpStatus}`, message: error.message, details: error.details },
    rawResponse: refusal.rawResponse,
  };
}

/** Settled by the transaction's status, which shows that the call took effect, or by an operator who says so. */
export function executedResult(
  entry: ResultSubject,
  transaction: Transaction | null,
  settledBy: SettledBy,
  nowMs: number,
): CommandResult {
  return { ...blankResult(entry, 'ACCEPTED', settledBy, nowMs), ...listed(entry, transaction) };
}

/** Settled by the transaction's status: it shows that the call did not take effect and no longer can. */
export function foundRefusedResult(entry: ResultSubject, transaction: Transaction, nowMs: number): CommandResult {
  const status = statusInWords(transaction.status);
  const error = {
    code: bounded(transaction.failureReason ?? `TRANSACTION_${status}`, CODE_LENGTH_MAX),
    message: `the transaction is ${status}: the command can no longer take effect`,
    details: null,
  };
  return { ...blankResult(entry, 'REFUSED', 'LOOKUP', nowMs), error, ...listed(entry, transaction) };
}

export function invalidResult(entry: ResultSubject, problems: readonly FieldProblem[], nowMs: number): CommandResult {
  const listed = problems.map((problem) => `${problem.path === '' ? 'the command' : problem.path} ${problem.message}`);
  return failure(entry, 'INVALID', nowMs, {
    code: 'INVALID_COMMAND',
    message: listed.join('; '),
    details: stringifyLossless({ problems }),
  });
}

export function unreadableResult(entry: ResultSubject, problem: string, nowMs: number): CommandResult {
  return failure(entry, 'INVALID', nowMs, { code: 'UNREADABLE_COMMAND', message: problem, details: null });
}

/** @param message why it is certain that nothing took effect; `settledBy` names the source of that certainty */
export function expiredResult(
  entry: ResultSubject,
  message: string,
  settledBy: SettledBy,
  nowMs: number,
): CommandResult {
  return { ...failure(entry, 'EXPIRED', nowMs, { code: 'TOO_OLD', message, details: null }), settledBy };
}

export function conflictResult(entry: ResultSubject, message: string, nowMs: number): CommandResult {
  return failure(entry, 'CONFLICT', nowMs, { code: 'KEY_REUSED', message, details: null });
}

export function failedResult(entry: ResultSubject, message: string, nowMs: number): CommandResult {
  return failure(entry, 'FAILED', nowMs, { code: 'SET_ASIDE', message, details: null });
}

/** @param reason why the outcome cannot be known, so that an operator can act on it */
export function unknownResult(entry: ResultSubject, reason: string, nowMs: number): CommandResult {
  return failure(entry, 'UNKNOWN', nowMs, {
    code: 'UNDECIDABLE',
    message: `the processor cannot know whether the service executed this command: ${reason}. Look the payment up at the service, then decide`,
    details: null,
  });
}

/** A listed transaction may be longer than any answer to a call, and than any record may be. */
function listed(
  entry: ResultSubject,
  transaction: Transaction | null,
): Pick<CommandResult, 'transaction' | 'warnings'> {
  if (transaction === null || stringifyLossless(transaction).length <= LISTED_LENGTH_MAX)
    return { transaction, warnings: [...entry.audit] };
  const warning = `transaction: it has more than ${LISTED_LENGTH_MAX} characters; only its short texts are kept`;
  return { transaction: shortTexts(transaction), warnings: [...entry.audit, warning] };
}

function failure(entry: ResultSubject, outcome: Outcome, nowMs: number, error: CommandError): CommandResult {
  return { ...blankResult(entry, outcome, 'PROCESSOR', nowMs), error };
}

function blankResult(entry: ResultSubject, outcome: Outcome, settledBy: SettledBy, nowMs: number): CommandResult {
  return {
    commandKey: entry.key,
    commandType: entry.commandType,
    commandId: entry.commandId,
    revision: entry.revision,
    outcome,
    settledBy,
    httpStatus: null,
    error: null,
    quote: null,
    transaction: null,
    rawResponse: null,
    warnings: [...entry.audit],
    attempts: entry.attempts,
    source: { topic: entry.origin.topic, partition: entry.origin.partition, offset: entry.origin.offset },
    commandTimestamp: BigInt(entry.origin.timestampMs),
    completedAt: BigInt(nowMs),
  };
}
