/** An operator's decision on a result makes the next revision, or is refused. Pure. */
import { transactionWithId } from '../api/wire.ts';
import { readCommandFields } from 'payment-processor-contract/command-fields';
import { OUTCOMES, type Outcome } from 'payment-processor-contract/commands';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import type { CommandResult, OperatorDecision, Transaction } from 'payment-processor-contract/types';
import type { Decision } from './decision.ts';
import { subjectOf } from './effect.ts';
import { earliestSentMs, type Entry } from './entry.ts';
import { executedResult, expiredResult, invalidResult, unknownResult } from './result-record.ts';
import { firstCallOf, settlementOf, whyKeyIsVoid, type LedgerPolicy } from './settlement.ts';
import { waiting } from './transitions.ts';
import { takenUp } from './wrong-clocks.ts';

export const OPERATOR_DECISIONS = ['EXECUTED', 'NOT_EXECUTED', 'RETRY'] as const;

export interface OperatorOrder extends OperatorDecision {
  /** `ce_id` of its message, by which the result names the decision. */
  readonly id: string | null;
}

export type OperatorReply = { kind: 'decided'; decision: Decision } | { kind: 'refused'; reason: string };

/** Latest decisions kept with an entry; their topic has all of them. */
const AUDIT_MAX = 20;

export function decideByOperator(
  entry: Entry | undefined,
  order: OperatorOrder,
  nowMs: number,
  policy: LedgerPolicy,
): OperatorReply {
  if (entry === undefined) return refused('no command with this key is known');
  if (entry.phase.state !== 'DONE') return refused(`the command is not finished; it is ${entry.phase.state}`);
  if (order.expectedRevision !== entry.revision) {
    return refused(
      `the decision is about revision ${order.expectedRevision}; the result has revision ${entry.revision}`,
    );
  }
  const { outcome } = entry.phase;
  const next: Entry = {
    ...entry,
    revision: entry.revision + 1,
    audit: [...entry.audit, auditOf(order)].slice(-AUDIT_MAX),
    decisionId: order.id,
  };
  switch (order.decision) {
    case 'EXECUTED':
      if (outcome !== 'UNKNOWN')
        return refused(`only an UNKNOWN result can be decided EXECUTED; this one is ${outcome}`);
      return finish(next, executedResult(next, executedTransaction(next, order), 'OPERATOR', nowMs));
    case 'NOT_EXECUTED': {
      if (outcome !== 'UNKNOWN')
        return refused(`only an UNKNOWN result can be decided NOT_EXECUTED; this one is ${outcome}`);
      const decided: Entry = {
        ...next,
        // The decision is about deferred calls too; from here `turnedAway` counts later ones.
        turnedAway: 0,
        firstSentMs: earliestSentMs(next),
        unexecuted: { by: 'OPERATOR', attempts: next.attempts, revision: next.revision },
      };
      const reason = 'an operator decided that the service did not execute it';
      return finish(decided, expiredResult(decided, reason, 'OPERATOR', nowMs));
    }
    case 'RETRY':
      if (!OUTCOMES[outcome].isRetriable) return refused(`a result that is ${outcome} cannot be retried`);
      return retry(next, outcome, order, nowMs, policy);
    default:
      return refused(`${order.decision} is not one of ${OPERATOR_DECISIONS.join(', ')}`);
  }
}

function retry(
  entry: Entry,
  outcome: Outcome,
  order: OperatorDecision,
  nowMs: number,
  policy: LedgerPolicy,
): OperatorReply {
  if (entry.isExpiryUnreadable) {
    return refused('its expires-at could not be read, so its time limit is unknown: publish it again under a new key');
  }
  const fields =
    entry.fieldsJson === null ? null : readCommandFields(entry.commandType, parseLossless(entry.fieldsJson));
  // Once a call was made, today's rules no longer apply: INVALID would say that nothing was sent.
  const value = fields !== null && (fields.ok || entry.attempts > 0) ? fields.value : null;
  if (value === null && entry.attempts > 0) {
    return refused('this release cannot read its fields: retry it with the release that made the call');
  }
  if (value === null) {
    const unreadable = [{ path: '', message: 'could not be read; publish it again under a new key' }];
    return finish(entry, invalidResult(entry, fields?.ok === false ? fields.problems : unreadable, nowMs));
  }
  if (outcome === 'UNKNOWN' && entry.firstSentMs === null) {
    // None of its own calls is in doubt: the service returned its quote again, already executed. A look-up would credit that execution
    // to this command. Another quote would be a second payment.
    return refused('another command may have executed its quote: decide EXECUTED or NOT_EXECUTED');
  }
  const sentMs = earliestSentMs(entry);
  const keyProblem = sentMs === null ? null : whyKeyIsVoid(entry, sentMs, nowMs, policy);
  if (keyProblem !== null) {
    const instead = outcome === 'UNKNOWN' ? 'decide EXECUTED or NOT_EXECUTED' : 'publish it again under a new key';
    return refused(`the idempotency key may not prevent a second payment, because ${keyProblem}: ${instead}`);
  }
  // The entry of an INVALID command does not say yet whether the fields ask for immediate execution.
  const isUntouched = entry.attempts === 0 && entry.quoted === null;
  const retried: Entry = {
    // Somebody may have set the clock since it was finished, or another clock may be ahead.
    ...takenUp(entry, nowMs, policy),
    ...(isUntouched ? firstCallOf(value, policy) : {}),
    // A retry restarts the command's age; the publisher's own limit stands.
    deadlineMs: Math.min(entry.expiresAtMs ?? Infinity, nowMs + policy.commandMaxAgeMs[entry.commandType]),
    waits: 0,
    drops: 0,
    quotesRunOut: 0,
  };
  // Settles an open doubt first: the operator's RETRY does not prove that no call took effect.
  const again = waiting(retried, nowMs, auditOf(order));
  if (again.phase.state === 'DOUBTFUL' && settlementOf(again, policy) === 'NONE') {
    const reason =
      'a retry cannot settle it, because nothing shows the outcome of the first call; to call again, ' +
      'decide NOT_EXECUTED and then RETRY';
    return finish(again, unknownResult(again, reason, nowMs));
  }
  return { kind: 'decided', decision: { kind: 'next', entry: again, seen: null } };
}

function executedTransaction(entry: Entry, order: OperatorDecision): Transaction | null {
  // A reader who follows the payment needs the id. The key is not enough: a replaced quote's transaction carries the same key.
  const transactionId = order.transactionId ?? subjectOf(entry)?.transactionId ?? null;
  return transactionId === null ? null : transactionWithId(transactionId);
}

/** How the audit of each such decision begins. */
export function auditStart(decision: string): string {
  return `${decision} on revision `;
}

/** Who decided what and why. The result keeps the latest AUDIT_MAX of these. */
export function auditOf(
  order: Readonly<Record<'decision' | 'operator' | 'reason', string>> & { readonly expectedRevision: number | string },
): string {
  return `${auditStart(order.decision)}${order.expectedRevision} by ${order.operator}: ${order.reason}`;
}

function finish(entry: Entry, result: CommandResult): OperatorReply {
  return { kind: 'decided', decision: { kind: 'finish', entry, result, seen: null } };
}

function refused(reason: string): OperatorReply {
  return { kind: 'refused', reason };
}
