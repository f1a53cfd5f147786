/** Checks before a decision: what the service, the published events and earlier redrives say against it. */
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { OUTCOMES, type Outcome } from 'payment-processor-contract/commands';
import { readSomeSettings } from 'payment-processor-contract/config';
import { topicNames } from 'payment-processor-contract/topics';
import { subjectOf } from '../../../src/ledger/effect.ts';
import { proofOf, type Entry } from '../../../src/ledger/entry.ts';
import { API_SETTING_NAMES, laneIn, withPaymentApi } from './context.ts';
import {
  checkTransaction,
  lookForEffect,
  lookForPublishedEffect,
  uncheckedTransaction,
  type CheckResult,
  type PublishedChanges,
} from './decided-transaction.ts';
import { unreadableText } from './event-output.ts';
import { readEntry } from './ledger.ts';
import type { Output } from './output.ts';
import { relatedDoubts } from './payment-doubts.ts';
import { RedriveFamilies } from './redrive-families.ts';
import { readNotes } from './redrive-notes.ts';
import { readStatusHistory, type StatusEvent } from './status-history.ts';
import { deletedSince, requireNothingHidden } from './topic-reading.ts';
import { CLOCK_DIFFERENCE_MS_MAX, isMadeByCall, sentMsOf } from './transaction-comparison.ts';
import { lookForOwners } from './transaction-owners.ts';

export interface SettlingDecision {
  readonly decision: 'EXECUTED' | 'NOT_EXECUTED';
  /** The transaction that the operator found; null: none is given. */
  readonly foundId: string | null;
}

/**
 * Checks EXECUTED or NOT_EXECUTED against the operator's transaction, or else the one that the command or its quote
 * names.
 * @returns what the service shows of it; for NOT_EXECUTED also what its published statuses show; for EXECUTED, if the
 *   call creates the transaction, also whether it belongs to another command
 */
export async function checkSettling(
  settings: ClientSettings,
  entry: Entry,
  { decision, foundId }: SettlingDecision,
  output: Output,
): Promise<CheckResult[]> {
  const subject = subjectOf(entry);
  const subjectId = subject?.transactionId ?? subject?.quoteId ?? null;
  const changes =
    decision === 'NOT_EXECUTED' && subjectId !== null ? await readChanges(settings, entry, subjectId, output) : null;
  const transactionId = foundId ?? subject?.transactionId ?? transactionIn(changes?.events ?? []);
  const published = changes === null ? [] : [lookForPublishedEffect(transactionId, entry, changes)];
  if (transactionId === null) {
    const note =
      'no transaction is named, so nothing was compared, and the result will not name the transaction of this command. If you found it, give --transaction-id';
    const unseen = 'no transaction is named, so nothing was looked up at the service: list its transactions first';
    return [{ doubt: null, notes: [decision === 'EXECUTED' ? note : unseen] }, ...published];
  }
  const ofApi = readSomeSettings(process.env, API_SETTING_NAMES);
  if (!ofApi.ok) {
    const { doubt, ...unseen } = uncheckedTransaction(transactionId, ofApi.problems.join('; '));
    // Not every operator has the service's credentials: without a named transaction they are not required.
    const isOptional = foundId === null && !isServiceGiven();
    return [isOptional ? { doubt: null, notes: [doubt] } : { doubt, ...unseen }, ...published];
  }
  if (decision === 'NOT_EXECUTED') {
    return [await withPaymentApi(ofApi.config, (api) => lookForEffect(api, transactionId, entry)), ...published];
  }
  const looked = await withPaymentApi(ofApi.config, (api) => checkTransaction(api, transactionId, entry));
  // Another command may execute the quote that this one made.
  if (!isMadeByCall(entry)) return [looked];
  return [looked, await lookForOwners(settings, transactionId, looked.transaction, entry)];
}

/** @param subjectId of the command's transaction or quote */
async function readChanges(
  settings: ClientSettings,
  entry: Entry,
  subjectId: string,
  output: Output,
): Promise<PublishedChanges> {
  const { events, hidden } = await readStatusHistory(settings, subjectId, output);
  const unreadable = events.flatMap((event) => (event.kind === 'unreadable' ? unreadableText(event) : []));
  const { quoteStatusChanged, transactionStatusChanged } = topicNames(settings.TOPIC_PREFIX);
  const ids = new Set([subjectId, transactionIn(events) ?? subjectId]);
  const lanes = await Promise.all([...ids].map((id) => laneIn(settings, id)));
  const sinceMs = sentMsOf(entry) - CLOCK_DIFFERENCE_MS_MAX;
  // Read last, to count what was deleted meanwhile.
  const deleted = [
    ...(await deletedSince(settings, transactionStatusChanged, sinceMs, lanes)),
    ...(await deletedSince(settings, quoteStatusChanged, sinceMs, lanes)),
  ];
  return { events, unread: [...hidden, ...unreadable, ...deleted] };
}

/** The operator has the service's credentials. */
function isServiceGiven(): boolean {
  const names = ['API_BASE_URL', 'API_TOKEN_ID', 'API_CLIENT_SECRET'];
  return names.every((name) => Boolean(process.env[name] ?? process.env[`${name}_FILE`]));
}

/** The transaction that a quote's events name. */
function transactionIn(events: readonly StatusEvent[]): string | null {
  const ids = events.map((event) => {
    if (event.kind === 'unreadable') return null;
    return event.kind === 'transaction-status' ? event.key : event.value.transactionId;
  });
  return ids.find((id) => id !== null) ?? null;
}

/**
 * Whether a RETRY may pay a second time. If the outcome allows no RETRY, nothing is checked: the processor refuses it.
 */
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
