/** Before a RETRY: whether it may pay a second time. */
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { OUTCOMES, type Outcome } from 'payment-processor-contract/commands';
import { proofOf, type Entry } from '../../../src/ledger/entry.ts';
import type { CheckResult } from './decided-transaction.ts';
import { readEntry } from './ledger.ts';
import { relatedDoubts } from './payment-doubts.ts';
import { RedriveFamilies } from './redrive-families.ts';
import { readNotes } from './redrive-notes.ts';
import { requireNothingHidden } from './topic-reading.ts';

/** Where no RETRY is possible, the processor says so. */
export async function checkRetry(settings: ClientSettings, entry: Entry): Promise<CheckResult[]> {
  const outcome = entry.phase.state === 'DONE' ? entry.phase.outcome : 'UNKNOWN';
  if (!OUTCOMES[outcome].isRetriable) return [];
  const doubts = await lookForRedrives(settings, entry.key);
  return [{ doubt: null, notes: warningsOf(entry, outcome) }, ...doubts.map((doubt) => ({ doubt, notes: [] }))];
}

/** On UNKNOWN, the processor first settles whether the earlier call took effect. */
function warningsOf(entry: Entry, outcome: Outcome): string[] {
  if (outcome === 'UNKNOWN') return [];
  const asked = `ask the publisher first: after ${outcome} it may have sent the payment under a new key, and then the RETRY pays a second time`;
  const decided =
    "a call was sent, and only an operator's word says that it took no effect: look the payment up again first. If it was made, the RETRY pays a second time";
  return [asked, ...(proofOf(entry)?.by === 'OPERATOR' ? [decided] : [])];
}

/** The command's message, or an earlier one of the same payment, may have been redriven under another key as well. */
async function lookForRedrives(settings: ClientSettings, key: string): Promise<string[]> {
  const { hidden, notes } = await readNotes(settings);
  requireNothingHidden(hidden);
  const command = { place: null, origin: key };
  // A message under this key gets this command's result.
  const elsewhere = [...notes.values()].flat().filter((note) => note.key !== key || note.letterKey !== key);
  const families = new RedriveFamilies(elsewhere);
  const entries = new Map<string, Entry | null>();
  for (const earlier of families.ancestorsOf(command)) entries.set(earlier, await readEntry(settings, earlier));
  return relatedDoubts(command, families, entries);
}
