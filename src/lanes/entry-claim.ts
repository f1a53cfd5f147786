/** Claims and prepares the call of an entry that is about to get its intent. */
import { callOf } from '../ledger/call-of.ts';
import type { UnphasedEntry } from '../ledger/entry.ts';
import { mayIntentWait, operationOf } from '../ledger/settlement.ts';
import type { ClaimRefusal } from './calls/claim-limits.ts';
import type { HandlerParts } from './outcomes.ts';
import { workClassOf } from './calls/work-classes.ts';

/**
 * @param isQuoted whether the entry already has a quote: its replacement does not count as one more open quote
 * @returns null when granted, else why not
 * @throws if no call can be built from the entry's fields; the caller settles the attempt
 */
export function claimCall(
  { calls, holds, lane, memory, policy }: HandlerParts,
  attempt: { attemptId: string; commit: number },
  entry: UnphasedEntry,
  isQuoted: boolean,
): ClaimRefusal | null {
  const held = holds.refusal(entry);
  if (held !== null) return held;
  const workClass = workClassOf(entry);
  const refusal = calls.claim({
    ...attempt,
    operation: operationOf(entry),
    workClass,
    lane,
    mayWait: mayIntentWait(entry, policy),
    quotesOpen: workClass === 'quote-to-execute' && !isQuoted ? memory.quotesOpen() : 0,
  });
  if (refusal === null) calls.prepare(attempt.attemptId, callOf(entry));
  return refusal;
}
