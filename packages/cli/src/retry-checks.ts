/** Before a RETRY of a result that no call of this command contradicts: whether it may pay a second time. */
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import type { CommandResult } from 'payment-processor-contract/types';
import { proofOf, type Entry } from '../../../src/ledger/entry.ts';
import type { CheckResult } from './decided-transaction.ts';
import { RedriveFamilies } from './redrive-families.ts';
import { otherLetterText } from './redrive-note.ts';
import { readNotes } from './redrive-notes.ts';
import { requireNothingHidden } from './topic-reading.ts';

export function warningsOfRetry(entry: Entry, { outcome }: CommandResult): CheckResult {
  const asked = `ask the publisher first: after ${outcome} it may have sent the payment under a new key, and then the RETRY pays a second time`;
  const decided =
    "a call was sent, and only an operator's word says that it took no effect: look the payment up again first. If it was made, the RETRY pays a second time";
  return { doubt: null, notes: [asked, ...(proofOf(entry)?.by === 'OPERATOR' ? [decided] : [])] };
}

/** The command's message, or an earlier one of the same payment, may have been redriven under another key as well. */
export async function lookForRedrives(settings: ClientSettings, key: string): Promise<CheckResult> {
  const { hidden, notes } = await readNotes(settings);
  requireNothingHidden(hidden);
  const families = new RedriveFamilies([...notes.values()].flat());
  const last = families.othersOf({ ownKey: key, place: null }).findLast(({ because }) => because === null);
  return { doubt: last === undefined ? null : otherLetterText(last), notes: [] };
}
