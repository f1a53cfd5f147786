/** Encodes and decodes an entry: the record LedgerEntry of schemas/internal/. */
import { COMMAND_TYPES, OUTCOME_NAMES } from 'payment-processor-contract/commands';
import type { Entry, Phase, Step, Unexecuted } from './entry.ts';
import { InternalRecord, LedgerFormatError, VALUE_CLASS, type ValueClass } from './ledger-value.ts';

/** Exactly one phase is set. A phase that a later release adds is one more field. */
type EntryRecord = Omit<Entry, 'phase' | 'unexecuted'> & {
  readonly unexecuted: { readonly by: string; readonly attempts: number; readonly revision?: number | null } | null;
  readonly intent?: PhaseIn<'INTENT'> | null;
  readonly parked?: PhaseIn<'PARKED'> | null;
  readonly doubtful?: PhaseIn<'DOUBTFUL'> | null;
  readonly executable?: PhaseIn<'QUOTED'> | null;
  readonly done?: PhaseIn<'DONE'> | null;
};
type PhaseIn<State> = Extract<Phase, { state: State }>;

const FIELD_OF_STATE = {
  INTENT: 'intent',
  PARKED: 'parked',
  DOUBTFUL: 'doubtful',
  QUOTED: 'executable',
  DONE: 'done',
} as const satisfies Record<Phase['state'], keyof EntryRecord>;

const STEPS: readonly string[] = ['SINGLE', 'CREATE', 'EXECUTE'] satisfies Step[];
const TYPES: readonly string[] = COMMAND_TYPES;
const OUTCOMES: ReadonlySet<string> = new Set(OUTCOME_NAMES);

const ledgerEntry = new InternalRecord<EntryRecord>('LedgerEntry');

export function encodeEntry(entry: Entry): Buffer {
  const { phase } = entry;
  const timeMs = phase.state === 'DONE' ? phase.completedMs : 0;
  return ledgerEntry.encodeAs(classOf(entry), timeMs, { ...entry, [FIELD_OF_STATE[phase.state]]: phase });
}

function classOf({ commandType, phase }: Entry): ValueClass {
  if (phase.state !== 'DONE') return VALUE_CLASS.unfinished;
  return phase.outcome === 'UNKNOWN' ? VALUE_CLASS.unknown[commandType] : VALUE_CLASS.done;
}

/** @throws LedgerFormatError for a record that this release cannot read, or that is not an entry */
export function decodeEntry(value: Buffer): Entry {
  const { doubtful, done, executable, intent, parked, unexecuted, ...entry } = ledgerEntry.decode(value);
  const phase = intent ?? done ?? parked ?? doubtful ?? executable ?? null;
  const { commandType, key, step } = entry;
  if (phase === null) throw unreadable(key, 'phase');
  if (!TYPES.includes(commandType)) throw unreadable(key, 'commandType');
  if (!STEPS.includes(step)) throw unreadable(key, 'step');
  if (phase.state === 'DONE' && !OUTCOMES.has(phase.outcome)) throw unreadable(key, 'outcome');
  return { ...entry, unexecuted: unexecutedOf(key, unexecuted), phase };
}

function unexecutedOf(key: string, unexecuted: EntryRecord['unexecuted']): Unexecuted | null {
  if (unexecuted === null) return null;
  const { attempts, by, revision } = unexecuted;
  if (by === 'LOOK_UP') return { by, attempts };
  if (by === 'OPERATOR' && typeof revision === 'number') return { by, attempts, revision };
  throw unreadable(key, 'unexecuted');
}

/** Leaves out the field's value: it may be an account. */
function unreadable(key: string, field: string): LedgerFormatError {
  return new LedgerFormatError(
    `the ledger record of ${key} has a field that this release cannot read: ${field}. Run the release that wrote it`,
  );
}
