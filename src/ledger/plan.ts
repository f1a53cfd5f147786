/** What is to be done with an entry whose time has come, and nothing of which is on its way. Pure. */
import { EXECUTE_SUFFIX } from '../records/keys.ts';
import { parseLossless } from '../records/lossless-json.ts';
import { readCommandFields } from '../records/command-fields.ts';
import type { Entry } from './entry.ts';
import { operationOf, settlementOf, type LedgerPolicy } from './settlement.ts';

/** Which transaction tells whether the call took effect: by its own id, else by a quoteId that the service may show. */
export interface LookUpQuery {
  readonly transactionId: string | null;
  readonly quoteId: string | null;
  /** Of the call whose effect is looked for. */
  readonly firstSentMs: number;
  /** The transaction may be much older than that. */
  readonly mayBeOlder: boolean;
}

export type Plan =
  | { kind: 'call'; quoteAgain: boolean }
  | { kind: 'look-up'; query: LookUpQuery }
  | { kind: 'expire'; reason: string }
  | { kind: 'give-up'; reason: string };

export function planOf(entry: Entry, nowMs: number, policy: LedgerPolicy): Plan {
  const isTooLate = nowMs >= entry.deadlineMs;
  if (entry.firstSentMs === null) {
    if (isTooLate) return { kind: 'expire', reason: 'its time limit passed before anything was sent' };
    const quoteExpiresAtMs = entry.step === 'EXECUTE' ? (entry.quoted?.expiresAtMs ?? null) : null;
    return { kind: 'call', quoteAgain: quoteExpiresAtMs !== null && quoteExpiresAtMs <= nowMs };
  }
  const inDoubtMs = nowMs - entry.firstSentMs;
  switch (settlementOf(entry, policy)) {
    case 'SAME_KEY':
      if (isTooLate) return giveUp('a call got no clear answer, and its time limit passed before it could be repeated');
      if (inDoubtMs >= policy.idempotencyRetentionMs) {
        return giveUp('a call got no clear answer, and the service may have forgotten the key since');
      }
      return { kind: 'call', quoteAgain: false };
    case 'HARMLESS':
      if (!isTooLate) return { kind: 'call', quoteAgain: false };
      if (operationOf(entry) !== 'create-quote') return giveUp('a call got no clear answer, and its time limit passed');
      // Nothing can have moved.
      return {
        kind: 'expire',
        reason: 'its time limit passed before a quote was received; a quote alone moves nothing',
      };
    case 'LOOK_UP':
      if (entry.isProvenUnexecuted) {
        if (!isTooLate) return { kind: 'call', quoteAgain: false };
        return { kind: 'expire', reason: 'its time limit passed, and the transaction shows that nothing took effect' };
      }
      if (inDoubtMs >= policy.idempotencyRetentionMs)
        return giveUp('the service could not be asked for its transaction');
      return lookUp(entry, entry.firstSentMs);
    case 'NONE':
      return giveUp('a call got no clear answer');
  }
}

function lookUp(entry: Entry, firstSentMs: number): Plan {
  const query = (transactionId: string | null, quoteId: string | null, mayBeOlder: boolean): Plan => ({
    kind: 'look-up',
    query: { transactionId, quoteId, firstSentMs, mayBeOlder },
  });
  if (entry.quoted !== null) return query(entry.quoted.transactionId, entry.quoted.quoteId, false);
  const json = entry.fieldsJson === null ? null : parseLossless(entry.fieldsJson);
  if (entry.commandType === 'execute-quote') {
    const fields = readCommandFields('execute-quote', json);
    if (fields.ok) return query(fields.value.transactionId, fields.value.quoteId, false);
  } else if (entry.commandType === 'reject-transaction') {
    const fields = readCommandFields('reject-transaction', json);
    // An incoming payment may wait for its rejection for long.
    if (fields.ok) return query(fields.value.transactionId, null, true);
  }
  return giveUp(
    `a call with the key ${entry.key}${entry.step === 'EXECUTE' ? EXECUTE_SUFFIX : ''} got no clear answer`,
  );
}

function giveUp(reason: string): Plan {
  return { kind: 'give-up', reason };
}
