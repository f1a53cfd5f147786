/** Which transaction a command acts on: according to its result, or to a call that has no answer yet. Pure. */
import type { Decision } from './decision.ts';
import type { Entry, UnphasedEntry } from './entry.ts';
import { keptFields } from './kept-fields.ts';
import { OPERATIONS, type SubjectIds } from './operations.ts';
import { operationOf } from './settlement.ts';

/** A command had an effect; `transactionId` is null if nothing says on which transaction. */
export interface Effect {
  readonly transactionId: string | null;
}

/** The command's effect, as far as the decision shows; null: none. */
export function effectOf(decision: Decision): Effect | null {
  switch (decision.kind) {
    case 'unchanged':
    case 'look-up':
      return null;
    case 'next':
      // The quote was made, whatever happens to its execution. Without `seen`, the entry only noted a copy.
      if (decision.entry.phase.state !== 'QUOTED' || decision.seen === null) return null;
      return { transactionId: decision.entry.quoted?.transactionId ?? null };
    case 'finish': {
      const { entry, result } = decision;
      if (result.outcome !== 'ACCEPTED') return null;
      const shownId = result.transaction?.id ?? result.quote?.transactionId;
      return { transactionId: shownId ?? subjectOf(entry)?.transactionId ?? null };
    }
  }
}

/** The possible effect of a call without a known answer. */
export type PossibleEffect = { readonly key: string } & (
  | { readonly on: 'transaction'; readonly transactionId: string }
  | { readonly on: 'quote'; readonly quoteId: string }
  /** A transaction that is unknown before the answer; accounts are null if the command names none. */
  | {
      readonly on: 'new';
      readonly type: 'INCOMING' | 'OUTGOING';
      readonly sourceAccountId: string | null;
      readonly destinationAccountId: string | null;
    }
);

/** @returns null if no call is under way or in doubt, or if nothing identifies what the call acts on */
export function possibleEffectOf(entry: Entry): PossibleEffect | null {
  const { key } = entry;
  if (!mayBeUnanswered(entry)) return null;
  const subject = subjectOf(entry);
  if (subject !== null) {
    const { quoteId, transactionId } = subject;
    if (transactionId !== null) return { key, on: 'transaction', transactionId };
    return quoteId === null ? null : { key, on: 'quote', quoteId };
  }
  switch (entry.commandType) {
    case 'create-quote':
      return { key, on: 'new', type: 'OUTGOING', ...accountsOf(keptFields('create-quote', entry)) };
    case 'transfer-in':
      return { key, on: 'new', type: 'INCOMING', ...accountsOf(keptFields('transfer-in', entry)) };
    case 'simulate-uma-receive':
      return { key, on: 'new', type: 'INCOMING', ...accountsOf(null) };
    case 'execute-quote':
    case 'reject-transaction':
      return null;
  }
}

/** Includes deferred calls: the deferral may come from a proxy, although the service took the call. */
function mayBeUnanswered({ firstSentMs, phase, turnedAway }: Entry): boolean {
  if (phase.state === 'DONE') return false;
  return phase.state === 'INTENT' || phase.state === 'DOUBTFUL' || firstSentMs !== null || turnedAway > 0;
}

/** What the entry's current call acts on. Null: the call creates the transaction, or no answer has named it. */
export function subjectOf(entry: UnphasedEntry): SubjectIds | null {
  if (entry.step === 'EXECUTE') return entry.quoted;
  return OPERATIONS[operationOf(entry)].lookUp?.subject(entry) ?? null;
}

function accountsOf(
  fields: { source: { accountId: string | null }; destination: { accountId: string | null } } | null,
): { sourceAccountId: string | null; destinationAccountId: string | null } {
  return {
    sourceAccountId: fields?.source.accountId ?? null,
    destinationAccountId: fields?.destination.accountId ?? null,
  };
}
