/** Everything in the topics about one key, and conclusions from it. Plain data, made by `readStory`. */
import { uniqueIdOf } from 'payment-processor-client/internal/events';
import {
  latestResult,
  FirstPlaces,
  paymentState,
  transactionOf,
  withoutEnd,
  type FoundResult,
  type PaymentState,
} from 'payment-processor-client/internal/payment-state';
import type { CommandType, Outcome } from 'payment-processor-contract/commands';
import type { CommandResult, CommandSource } from 'payment-processor-contract/types';
import type { LetterSummary } from '../dead-letter.ts';
import type { EntryRecord } from '../ledger.ts';
import type { Content } from '../message-content.ts';
import { MOVED, plainNumber } from '../../../../src/consumers/message-origin.ts';
import { subjectOf } from '../../../../src/ledger/effect.ts';
import { isInDoubt, proofOf, type Entry, type Phase } from '../../../../src/ledger/entry.ts';
import type { RedriveNote } from '../redrive-note.ts';
import type { StatusEvent } from '../status-history.ts';

export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestampMs: number;
}

/** A record of a topic, and its decoded value. */
export type Published<Value> = RecordPlace & Content<Value> & { readonly headers: Readonly<Record<string, string>> };

/** A message of a command topic; its value has the fields. */
export type PublishedMessage = Published<object> & {
  readonly commandType: CommandType;
  readonly valueBytes: number;
  /** The fingerprint of type and fields, as in a ledger entry; null: unreadable. */
  readonly fingerprint: string | null;
  /** The message's original place, if it was moved to the key's lane. */
  readonly movedFrom: Pick<CommandSource, 'partition' | 'offset'> | null;
};

/** A published decision of an operator. */
export interface StoryDecision {
  readonly decision: string;
  readonly operator: string;
  readonly reason: string;
  readonly expectedRevision: string;
  readonly transactionId: string | null;
}

export interface StoryLetter {
  readonly letter: LetterSummary;
  readonly redriven: readonly RedriveNote[];
}

export interface Story {
  readonly key: string;
  readonly messages: readonly PublishedMessage[];
  /** States of the ledger's entry, oldest first, except compacted ones. */
  readonly entries: readonly EntryRecord[];
  /** By topic: the key's lane has admitted every message before this offset. */
  readonly admittedTo: Readonly<Record<string, bigint>>;
  readonly results: readonly Published<CommandResult>[];
  readonly decisions: readonly Published<StoryDecision>[];
  readonly letters: readonly StoryLetter[];
  readonly changes: readonly StatusEvent[];
  /** What was not read, in words. */
  readonly cuts: readonly string[];
  /** A topic was not read to its end: the latest records may be missing. */
  readonly isCutShort: boolean;
}

/** Nothing of the key was found; with `cuts`, nothing in the records read. */
export function isUnknown(story: Story): boolean {
  const { decisions, entries, letters, messages, results } = story;
  return [decisions, entries, letters, messages, results].every((found) => found.length === 0);
}

/**
 * Keeps the oldest and the newest if there are too many.
 * @param isLess true for records to drop first
 * @returns how many were left out
 */
export function keepSome<Item>(items: Item[], item: Item, max: number, isLess?: (item: Item) => boolean): number {
  items.push(item);
  if (items.length <= max) return 0;
  const least = isLess === undefined ? -1 : items.findIndex(isLess);
  items.splice(least < 0 ? Math.floor(max / 2) : least, 1);
  return 1;
}

/** A CONFLICT concerns a message, not the key, and there may be any number of them. */
export function isOfMessage({ value }: { readonly value: CommandResult | null }): boolean {
  return value?.outcome === 'CONFLICT';
}

/** Null: there is none, or the ledger has forgotten it. */
export function currentEntryOf({ entries }: Pick<Story, 'entries'>): Entry | null {
  return entries.at(-1)?.entry ?? null;
}

/** The latest entry, even if the ledger has forgotten it since. */
export function lastEntryOf({ entries }: Pick<Story, 'entries'>): Entry | null {
  return entries.findLast(({ entry }) => entry !== null)?.entry ?? null;
}

/**
 * The payment's state from the results and status changes read, as in the client's `awaitSettled`. That does not show that
 * the command runs again, or that the key has a later command.
 */
export function paymentOf(story: Story): PaymentState<CommandResult> {
  const { changes, isCutShort, results } = story;
  const found = new FirstPlaces<FoundResult & { readonly uniqueId: string | null }>();
  for (const { headers, offset, value } of results) found.take({ uniqueId: uniqueIdOf(headers), offset, value });
  const counting = found.all().reduce<FoundResult | null>(latestResult, null);
  if (isPassed(counting?.value ?? null, currentEntryOf(story)) || hasNewCommand(story))
    return { kind: 'nothing-known' };
  // As in the client: some changes that were read may belong to a payment that the command did not make.
  const isNamed = (move: StatusEvent): boolean =>
    move.kind === 'transaction-status' && move.value.commandKeys.includes(story.key);
  const named = new Set([
    counting?.value && transactionOf(counting.value),
    ...changes.filter(isNamed).map(({ key }) => key),
  ]);
  const moves = changes.filter(({ key, kind }) => kind !== 'quote-status' && named.has(key));
  moves.sort((left, right) => Number(left.offset - right.offset));
  const last = new Map(moves.map((move) => [move.key, move.kind === 'transaction-status' ? move.value : null]));
  const state = paymentState(counting?.value ?? null, last);
  if (state.kind === 'not-accepted' && hasWaitingDecision(story)) return { kind: 'nothing-known' };
  return isCutShort ? withoutEnd(state) : state;
}

/** The key's current entry while it has no result yet; null: it has one, or there is no entry. */
export function runningEntryOf({ entries }: Pick<Story, 'entries'>): Entry | null {
  const entry = currentEntryOf({ entries });
  return entry?.phase.state === 'DONE' ? null : entry;
}

/** A message waits, and the ledger has forgotten its key: the other records are about an earlier command. */
export function hasNewCommand(story: Story): boolean {
  return story.messages.some((message) => roleOf(message, story) === 'new-command');
}

/** A decision about the key waits: it may be a RETRY. */
export function hasWaitingDecision(story: Story): boolean {
  return story.decisions.some((decision) => isBeyondAdmitted(decision, story));
}

/** The last outcome of an earlier command under the key, which the ledger has forgotten since; null: none was read. */
export function earlierOutcomeOf(story: Story): CommandResult['outcome'] | null {
  const settled = story.results.filter((result) => !isOfMessage(result)).flatMap(({ value }) => value ?? []);
  if (hasNewCommand(story)) return settled.at(-1)?.outcome ?? null;
  const present = currentEntryOf(story)?.origin ?? settled.at(-1)?.source;
  if (present === undefined) return null;
  return settled.findLast(({ source }) => !isSamePlace(source, present))?.outcome ?? null;
}

/** Whether the result has an earlier revision than the ledger's, or belongs to an earlier command of the key. */
function isPassed(result: CommandResult | null, entry: Entry | null): boolean {
  if (result === null || entry === null) return false;
  return !isSamePlace(result.source, entry.origin) || result.revision < entry.revision;
}

function isSamePlace(left: CommandSource, right: CommandSource): boolean {
  return left.topic === right.topic && left.partition === right.partition && left.offset === right.offset;
}

export type MessageRole =
  /** The command itself: the ledger's entry came from this message. */
  | 'command'
  /** The same content under the same key. */
  | 'copy'
  /** Other content under the same key. */
  | 'other-content'
  /** The ledger does not have the key. */
  | 'not-admitted'
  /** It waits, and the ledger has forgotten the key: a command of its own once it is admitted. */
  | 'new-command'
  /** It came before the current command: a command that the ledger has forgotten, or a message that was set aside. */
  | 'earlier'
  /** Its content is unreadable here, or the ledger was not read to its end. */
  | 'unread';

/** Roles of messages that name the command's own payment. */
const OF_COMMAND: readonly MessageRole[] = ['command', 'copy', 'new-command', 'not-admitted'];

/** The payment's id: its transaction's, else its quote's; null: none is named. A refused entry no longer has the command's fields. */
export function paymentIdOf(story: Story): string | null {
  const entry = lastEntryOf(story);
  const subject = entry === null ? null : subjectOf(entry);
  const settled = story.results.flatMap(({ value }) => value ?? []).reverse();
  // Messages with other content name another payment.
  const messages = story.messages.filter((message) => OF_COMMAND.includes(roleOf(message, story)));
  const ids = [
    ...settled.flatMap(({ quote, transaction }) => [transaction?.id, quote?.transactionId, quote?.id]),
    subject?.transactionId,
    subject?.quoteId,
    ...messages.flatMap(({ value }) => {
      const { quoteId, transactionId } = Object(value) as Readonly<Record<string, unknown>>;
      return [transactionId, quoteId].map((id) => (typeof id === 'string' ? id : null));
    }),
  ];
  return ids.find((id) => id !== null && id !== undefined && id !== '') ?? null;
}

/** The original place of a message that was moved to the key's lane; null: it was not moved. */
export function movedFromOf(headers: Readonly<Record<string, string>>): PublishedMessage['movedFrom'] {
  const partition = plainNumber(headers[MOVED.partition] ?? null);
  const offset = plainNumber(headers[MOVED.offset] ?? null);
  return partition === null || offset === null ? null : { partition: Number(partition), offset };
}

/** A message's role for the ledger entry of its key. */
export function roleOf(message: PublishedMessage, story: Story): MessageRole {
  const entry = lastEntryOf(story);
  const isForgotten = currentEntryOf(story) === null;
  // Compaction may have left no trace of the key in the ledger, but its results show that it was known.
  const { results } = story;
  const wasKnown = story.entries.length + results.length > 0;
  if (isForgotten && !story.isCutShort && wasKnown && isWaiting(message, story)) return 'new-command';
  const { topic } = message;
  const { offset, partition } = message.movedFrom ?? message;
  const place = { topic, partition, offset };
  if (entry !== null && isSamePlace(entry.origin, place)) return 'command';
  if (isForgotten && story.isCutShort) return 'unread';
  if (entry === null)
    return results.some((result) => isOfMessage(result) && isAbout(result, place)) ? 'other-content' : 'not-admitted';
  const { origin } = entry;
  if (origin.topic === topic && origin.partition === partition && offset < origin.offset) return 'earlier';
  if (results.some((result) => !isOfMessage(result) && isAbout(result, place))) return 'earlier';
  if (message.fingerprint === null) return 'unread';
  return message.fingerprint === entry.fingerprint ? 'copy' : 'other-content';
}

/** Its lane has not admitted it, as far as was read. The results may have been read later than the ledger. */
function isWaiting(message: PublishedMessage, story: Story): boolean {
  return isBeyondAdmitted(message, story) && !story.results.some((result) => isAbout(result, message));
}

/** The key's lane has not read it, as far as its ledger was read. */
export function isBeyondAdmitted({ offset, topic }: RecordPlace, { admittedTo }: Story): boolean {
  return offset >= (admittedTo[topic] ?? 0n);
}

/** Whether the result is the one of the message at this place. */
export function isAbout({ value }: Published<CommandResult>, place: CommandSource): boolean {
  return value !== null && isSamePlace(value.source, place);
}

export interface ShownCall {
  readonly attemptId: string;
  /** Number of the call within this entry, from 1. */
  readonly attempt: number;
  readonly step: Entry['step'];
  readonly processId: string;
  readonly beganMs: number;
  readonly timeoutMs: number;
}

/** @returns calls whose intent the ledger still has, oldest first, without duplicates */
export function callsOf({ entries }: Story): ShownCall[] {
  const calls = new Map<string, ShownCall>();
  for (const { entry } of entries) {
    if (entry?.phase.state !== 'INTENT') continue;
    const { atMs, attemptId, processId, timeoutMs } = entry.phase;
    const { attempts, step } = entry;
    calls.set(attemptId, { attemptId, attempt: attempts + 1, step, processId, beganMs: atMs, timeoutMs });
  }
  return [...calls.values()];
}

/** Sentences about missing information, with the reason. */
export function notKept(story: Story): string[] {
  const entry = lastEntryOf(story);
  if (entry === null) return [];
  const calls = callsOf(story);
  // `attempts` does not count the call of the current intent yet.
  const made = Math.max(entry.attempts, ...calls.map(({ attempt }) => attempt));
  const missing = made - new Set(calls.map(({ attempt }) => attempt)).size;
  const answers =
    'the answer to each call: the ledger keeps only the resulting state, and the result has the answer that settled it';
  const compacted = `${missing} of ${made} calls: compaction kept only later states of the entry`;
  const lookUps = 'single look-ups: the ledger keeps only their outcome';
  return [
    ...(made === 0 ? [] : [answers]),
    ...(missing <= 0 ? [] : [compacted]),
    ...(entry.firstSentMs === null && entry.unexecuted === null ? [] : [lookUps]),
  ];
}

/** The runbooks that apply. @returns paths within the repository, each once */
export function runbooksOf(story: Story): string[] {
  const entry = currentEntryOf(story);
  const isWaiting = story.messages.some((message) => ['new-command', 'not-admitted'].includes(roleOf(message, story)));
  const names = [
    ...(entry === null ? [] : runbooksOfEntry(entry)),
    ...(isWaiting ? [TOO_OLD] : []),
    ...(story.letters.length > 0 ? ['PaymentsDeadLetters'] : []),
  ];
  return [...new Set(names)].map((name) => `docs/runbooks/${name}.md`);
}

const TOO_OLD = 'PaymentsOldestUnansweredTooOld';
/** By the phase of an entry, or by its outcome; null: none. */
const RUNBOOKS: Readonly<Record<Exclude<Phase['state'], 'DONE'> | Outcome, string | null>> = {
  INTENT: TOO_OLD,
  PARKED: TOO_OLD,
  QUOTED: TOO_OLD,
  DOUBTFUL: 'PaymentsDoubtNotSettled',
  UNKNOWN: 'unknown-results',
  FAILED: 'PaymentsOwnFailures',
  EXPIRED: 'PaymentsCommandsExpired',
  ACCEPTED: null,
  REFUSED: null,
  INVALID: null,
  CONFLICT: null,
};

function runbooksOfEntry(entry: Entry): string[] {
  const { drops, phase, quotesRunOut } = entry;
  const ended = phase.state === 'DONE' ? phase.outcome : isInDoubt(entry) ? 'DOUBTFUL' : phase.state;
  // The runbook of EXPIRED says that no money moved. An operator's word does not prove it.
  const name = ended === 'EXPIRED' && proofOf(entry)?.by === 'OPERATOR' ? RUNBOOKS.UNKNOWN : RUNBOOKS[ended];
  return [
    ...(name === null ? [] : [name]),
    ...(drops > 0 ? ['PaymentsOwnFailures'] : []),
    ...(quotesRunOut > 0 ? ['PaymentsCommandsExpired'] : []),
  ];
}
