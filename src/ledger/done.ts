/** The last phase: the entry as it is remembered for copies. */
import type { Outcome } from '../records/commands.ts';
import type { Entry, StoredEvent, UnphasedEntry } from './entry.ts';

/** Outcomes after which the command's fields are needed no more; the others may be retried by a person's decision. */
const SETTLED_OUTCOMES: readonly Outcome[] = ['ACCEPTED', 'REFUSED'];

export function doneEntry(entry: UnphasedEntry, outcome: Outcome, completedMs: number, result: StoredEvent): Entry {
  return {
    ...entry,
    fieldsJson: SETTLED_OUTCOMES.includes(outcome) ? null : entry.fieldsJson,
    copies: [],
    phase: { state: 'DONE', outcome, completedMs, result },
  };
}
