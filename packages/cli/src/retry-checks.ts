/** Before a RETRY: whether it may pay a second time. */
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { OUTCOMES, type Outcome } from 'payment-processor-contract/commands';
import { proofOf, type Entry } from '../../../src/ledger/entry.ts';
import type { CheckResult } from './decided-transaction.ts';
import { RedriveFamilies } from './redrive-families.ts';
import { otherLetterText } from './redrive-note.ts';
import { readNotes } from './redrive-notes.ts';
import { requireNothingHidden } from './topic-reading.ts';

/** On UNKNOWN, the processor first settles whether the earlier call took effect. Where no RETRY is possible, it says so. */
export async function checkRetry(settings: ClientSettings, entry: Entry): Promise<CheckResult[]> {
  const outcome = entry.phase.state === 'DONE' ? entry.phase.outcome : 'UNKNOWN';
  if (outcome === 'UNKNOWN' || !OUTCOMES[outcome].isRetriable) return [];
  return [warningsOf(entry, outcome), await lookForRedrives(settings, entry.key)];
}

function warningsOf(entry: Entry, outcome: Outcome): CheckResult {
  const asked = `ask the publisher first: after ${outcome} it may have sent the payment under a new key, and then the RETRY pays a second time`;
  const decided =
    "a call was sent, and only an operator's word says that it took no effect: look the payment up again first. If it was made, the RETRY pays a second time";
  return { doubt: null, notes: [asked, ...(proofOf(entry)?.by === 'OPERATOR' ? [decided] : [])] };
}

/** The command's message, or an earlier one of the same payment, may have been redriven under another key as well. */
async function lookForRedrives(settings: ClientSettings, key: string): Promise<CheckResult> {
  const { hidden, notes } = await readNotes(settings);
  requireNothingHidden(hidden);
  const families = new RedriveFamilies([...notes.values()].flat());
  const last = families.othersOf({ ownKey: key, place: null }).findLast(({ because }) => because === null);
  return { doubt: last === undefined ? null : otherLetterText(last), notes: [] };
}
