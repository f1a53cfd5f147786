/** All that the topics say of one key. Plain data, made by `readStory`. */
import { uniqueIdOf } from 'payment-processor-client/internal/events';
import {
  countingResult,
  FirstPlaces,
  paymentState,
  withoutEnd,
  type FoundResult,
  type PaymentState,
} from 'payment-processor-client/internal/payment-state';
import type { CommandType } from 'payment-processor-contract/commands';
import type { CommandResult } from 'payment-processor-contract/types';
import type { LetterSummary } from '../dead-letter.ts';
import type { EntryRecord } from '../ledger.ts';
import type { MessageContent, Unread } from '../message-content.ts';
import type { RedriveNote } from '../redrive-notes.ts';
import type { StatusEvent } from '../status-history.ts';

export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestampMs: number;
}

interface Published extends RecordPlace {
  readonly headers: Readonly<Record<string, string>>;
}

/** A message of a command topic. */
export interface PublishedMessage extends Published {
  readonly commandType: CommandType;
  readonly valueBytes: number;
  readonly content: MessageContent;
  /** Of one that was moved to the key's lane: its first place. */
  readonly movedFrom: { readonly partition: string; readonly offset: string } | null;
}

export interface PublishedResult extends Published {
  readonly content: { readonly kind: 'result'; readonly result: CommandResult } | Unread;
}

/** An operator's decision, as it was published. */
export interface StoryDecision {
  readonly decision: string;
  readonly operator: string;
  readonly reason: string;
  readonly expectedRevision: string;
  readonly transactionId: string | null;
}

export interface PublishedDecision extends Published {
  readonly content: { readonly kind: 'decision'; readonly decision: StoryDecision } | Unread;
}

export interface StoryLetter {
  readonly letter: LetterSummary;
  readonly redriven: readonly RedriveNote[];
}

export interface Story {
  readonly key: string;
  readonly messages: readonly PublishedMessage[];
  /** States of the ledger's entry, oldest first, as far back as compaction left them. */
  readonly entries: readonly EntryRecord[];
  readonly results: readonly PublishedResult[];
  readonly decisions: readonly PublishedDecision[];
  readonly letters: readonly StoryLetter[];
  readonly changes: readonly StatusEvent[];
  /** What was not read, in sentences. */
  readonly cuts: readonly string[];
  /** A topic was not read to its end: what came last may be missing. */
  readonly isCutShort: boolean;
}

/** Nothing of the key was found; with `cuts`, nothing in what was read. */
export function isUnknown(story: Story): boolean {
  const { decisions, entries, letters, messages, results } = story;
  return [decisions, entries, letters, messages, results].every((found) => found.length === 0);
}

/** Where the payment is, as far as results and status changes were read: as the client's `awaitSettled` says it. */
export function paymentOf({ changes, isCutShort, results }: Story): PaymentState<CommandResult> {
  const found = new FirstPlaces<FoundResult & { readonly uniqueId: string | null }>();
  for (const { content, headers, offset } of results)
    found.take({ uniqueId: uniqueIdOf(headers), offset, value: content.kind === 'unread' ? null : content.result });
  const counting = found.all().reduce<FoundResult | null>(countingResult, null);
  const moves = changes.filter(({ kind }) => kind !== 'quote-status');
  moves.sort((left, right) => Number(left.offset - right.offset));
  const last = new Map(moves.map((move) => [move.key, move.kind === 'transaction-status' ? move.value : null]));
  const state = paymentState(counting?.value ?? null, last);
  return isCutShort ? withoutEnd(state) : state;
}

export type MessageRole =
  /** The command itself: the ledger's entry is of this message. */
  | 'command'
  /** The same content under the same key. */
  | 'copy'
  /** Other content under the same key. */
  | 'other-content'
  /** The ledger has nothing of the key. */
  | 'not-admitted'
  /** Its content could not be read here, or the ledger not to its end. */
  | 'unread';

/** What a message is to the ledger's entry of its key. */
export function roleOf(message: PublishedMessage, story: Story): MessageRole {
  const entry = story.entries.findLast((record) => record.entry !== null)?.entry ?? null;
  if (entry === null) return story.isCutShort ? 'unread' : 'not-admitted';
  const partition = message.movedFrom?.partition ?? String(message.partition);
  const offset = message.movedFrom?.offset ?? message.offset.toString();
  const { origin } = entry;
  if (origin.topic === message.topic && String(origin.partition) === partition && origin.offset.toString() === offset) {
    return 'command';
  }
  if (message.content.kind === 'unread') return 'unread';
  return message.content.fingerprint === entry.fingerprint ? 'copy' : 'other-content';
}
