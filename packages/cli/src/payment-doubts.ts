/** Why a message or command may already be paid: by its own key, an earlier one, or a redrive of the same payment. Pure. */
import { keyProblem, laneOf } from 'payment-processor-contract/keys';
import type { Entry } from '../../../src/ledger/entry.ts';
import { isoOf } from './event-output.ts';
import type { KnownKeys } from './ledger.ts';
import type { Letter, RedriveFamilies } from './redrive-families.ts';
import { otherLetterText } from './redrive-note.ts';
import { keyCommand } from './key-command.ts';

/**
 * Why the command of a letter's own key may have been paid; null: it certainly was not. The ledger's note that it forgot a key is
 * itself deleted later, so the command of an old letter may have left no trace.
 * @param ownKey null: none. Without a usable key the letter was no command, but one of the new key may have paid it
 */
export function whyItMayBePaid(
  { letterMs, newKey, ownKey }: { letterMs: number; newKey: string; ownKey: string | null },
  { entries, knownFromMs }: KnownKeys,
): string | null {
  const own = ownKey === null ? undefined : entries.get(ownKey);
  if (ownKey !== null && own !== undefined) return whyPaid('its own key', ownKey, own);
  const isUsable = ownKey !== null && keyProblem(ownKey) === null;
  const key = isUsable ? ownKey : newKey;
  const fromMs = knownFromMs[laneOf(key, knownFromMs.length)] ?? Infinity;
  return letterMs >= fromMs
    ? null
    : `the dead letter is older than ${isoOf(fromMs)}, and the ledger may have forgotten keys from before then, such as ${isUsable ? 'its own key' : 'the new key'} ${key}: ${lookText(key)}`;
}

/**
 * Why commands from which the letter was redriven, or other redrives, may have paid it.
 * @param entries of the letter's ancestors
 */
export function relatedDoubts(
  letter: Letter,
  families: RedriveFamilies,
  entries: ReadonlyMap<string, Entry | null>,
): string[] {
  const ancestors = families.ancestorsOf(letter);
  // An ancestor's usable key got a result, so if it has no entry, it was forgotten.
  const ofAncestors = ancestors.flatMap((key) => whyPaid('its earlier key', key, entries.get(key) ?? null) ?? []);
  return [...ofAncestors, ...families.othersOf(letter).map(otherLetterText)];
}

/** Only a command that is INVALID, or that FAILED unread, was certainly not paid. */
function whyPaid(what: string, key: string, entry: Entry | null): string | null {
  if (entry === null) return forgottenText(what, key);
  const state = stateOf(entry);
  if (state === 'INVALID' || isUnread(entry)) return null;
  const retry =
    state === 'FAILED' ? `, or run it again with \`${keyCommand('resolve', key, '--decision RETRY')}\`` : '';
  return `the command of ${what} ${key} is ${state}: ${lookText(key)}${retry}`;
}

export function forgottenText(what: string, key: string): string {
  return `the ledger has forgotten the command of ${what} ${key}: ${lookText(key)}`;
}

function lookText(key: string): string {
  return `it may be the same payment; check with \`${keyCommand('show', key)}\``;
}

export function stateOf({ phase }: Entry): string {
  return phase.state === 'DONE' ? phase.outcome : `not finished (${phase.state})`;
}

/** The message got its result without being read: nothing was sent, the ledger knows only its bytes, and no RETRY can run it. */
export function isUnread({ attempts, fieldsJson, phase }: Entry): boolean {
  const isEnded = phase.state === 'DONE' && ['INVALID', 'FAILED'].includes(phase.outcome);
  return isEnded && fieldsJson === null && attempts === 0;
}
