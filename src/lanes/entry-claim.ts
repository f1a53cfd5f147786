/** What an entry that is about to get its intent claims of the calls. */
import type { Entry } from '../ledger/entry.ts';
import { mayIntentWait, operationOf, type LedgerPolicy } from '../ledger/settlement.ts';
import type { Claim } from './claim-limits.ts';
import type { Memory } from './memory.ts';
import { workClassOf } from './work-classes.ts';

export interface ClaimingLane {
  readonly lane: number;
  readonly memory: Pick<Memory, 'quotesOpen'>;
  readonly policy: LedgerPolicy;
}

/** @param isQuoted whether the entry has a quote: one made again in its place is no further quote */
export function claimOf(
  { lane, memory, policy }: ClaimingLane,
  attempt: { attemptId: string; commit: number },
  entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>,
  isQuoted: boolean,
): Claim {
  const workClass = workClassOf(entry);
  return {
    ...attempt,
    operation: operationOf(entry),
    workClass,
    lane,
    mayWait: mayIntentWait(entry, policy),
    quotesOpen: workClass === 'quote-to-execute' && !isQuoted ? memory.quotesOpen() : 0,
  };
}
