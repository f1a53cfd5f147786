/**
 * Notes of redrives and acknowledgements, on the partition of their dead letter. The note of a redrive is written before the
 * message is published again, so that two concurrent redrives publish it once. Of new notes on the letter, and on other
 * letters of its key, the first counts; the others publish nothing.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { PublishError, RecordPublisher } from 'payment-processor-client/internal/kafka/record-publisher';
import { HANDLED, NOTE_HEADERS, notedOffset } from '../../../src/producers/dead-letter-notes.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, type CliSettings } from './context.ts';
import { isoOf } from './event-output.ts';
import { CliFailure } from './exit-codes.ts';
import { failureOf, oncePublished, reasonOf } from './failures.ts';
import { readTopics } from './topic-reading.ts';

/** A lane's open transaction hides later records from readers, until it ends or times out after 15 s. */
const OWN_NOTE_TRIES_MAX = 10;
const OWN_NOTE_PAUSE_MS = 1_000;

export interface RedriveNote {
  /** The dead letter's offset. */
  readonly partition: number;
  readonly letterOffset: bigint;
  /** The note's own offset, in the same partition. */
  readonly offset: bigint;
  /** The dead letter's own key; null: it had none. */
  readonly letterKey: string | null;
  /** The key for publishing it again; empty: it was acknowledged. */
  readonly key: string;
  /** Why it was acknowledged; null: it was redriven. */
  readonly because: string | null;
  readonly operator: string;
  readonly timestamp: string;
  readonly id: string;
}

/** Null: the record is a dead letter. */
export function noteOf(
  record: Pick<TopicRecord, 'headers' | 'key' | 'offset' | 'partition' | 'timestampMs'>,
): RedriveNote | null {
  const { headers, offset, partition, timestampMs } = record;
  const letterOffset = notedOffset((name) => headers[name]);
  if (letterOffset === null) return null;
  return {
    partition,
    letterOffset,
    offset,
    letterKey: record.key?.toString('latin1') ?? null,
    key: headers[NOTE_HEADERS.key] ?? '',
    because: headers[NOTE_HEADERS.because] ?? null,
    operator: headers[NOTE_HEADERS.operator] ?? '',
    timestamp: isoOf(timestampMs),
    id: headers[NOTE_HEADERS.id] ?? '',
  };
}

/** @returns every note, by its dead letter's place, oldest first; and sentences about records that an open transaction hides */
export async function readNotes(
  settings: CliSettings,
): Promise<{ notes: Map<string, RedriveNote[]>; hidden: readonly string[] }> {
  const notes = new Map<string, RedriveNote[]>();
  const hidden = await readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
    onRecord: (record) => {
      const note = noteOf(record);
      if (note === null) return;
      const name = notedLetter(note);
      notes.set(name, [...(notes.get(name) ?? []), note]);
    },
  });
  return { notes, hidden };
}

export function letterName({ partition, offset }: { partition: number; offset: bigint }): string {
  return `${partition}/${offset}`;
}

/** The name of the noted letter. */
export function notedLetter({ letterOffset, partition }: RedriveNote): string {
  return letterName({ partition, offset: letterOffset });
}

/** How a letter was handled. The note of a redrive is written before its message, so it does not prove that the message came. */
function handledText({ because, key }: Pick<RedriveNote, 'because' | 'key'>): string {
  return because === null ? `marked as redriven under ${key}` : `acknowledged (${because})`;
}

export function noteText(note: RedriveNote): string {
  return `${handledText(note)} by ${note.operator} at ${note.timestamp}`;
}

/** How to find out the outcome. */
export function whomToAsk({ because, key, operator }: RedriveNote): string {
  return because === null ? `check with \`show ${key}\`` : `ask ${operator}`;
}

/** Says that another letter of the same key was handled before. */
export function otherLetterText(note: RedriveNote): string {
  return `the dead letter ${notedLetter(note)} of the same key ${note.letterKey} was ${noteText(note)}: it may be the same payment; ${whomToAsk(note)}`;
}

/** A dead letter to redrive, or to acknowledge, which closes it because it was handled otherwise. */
export interface LetterClaim extends Pick<RedriveNote, 'because' | 'key'> {
  readonly letter: { partition: number; offset: bigint; key: Buffer | null };
  /** A command: another letter of its key may be the same payment, even if it is published under another key. */
  readonly isPayment: boolean;
  readonly knownNotes: readonly RedriveNote[];
}

/** Null: the claim was first. Else the first note. */
export type ClaimedBy = RedriveNote | null;

/**
 * Writes a note for each claim, and finds out which are the first after the known notes.
 * @returns in the order of the claims
 * @throws CliFailure if not all notes can be written, or they cannot be read in time: then nothing may be sent
 */
export async function claimLetters(
  settings: CliSettings,
  operator: string,
  claims: readonly LetterClaim[],
): Promise<ClaimedBy[]> {
  const noted = claims.map((claim) => ({ ...claim, id: randomUUID() }));
  const topic = topicNames(settings.TOPIC_PREFIX).deadLetters;
  const publisher = await RecordPublisher.connect(cliKafka(settings), [topic], CLI_RETRY);
  try {
    for (const [index, { because, id, key, letter }] of noted.entries()) {
      const headers = {
        'dlq-reason': because === null ? HANDLED.redriven : HANDLED.acknowledged,
        'dlq-message': `${handledText({ because, key })} by ${operator}`,
        [NOTE_HEADERS.partition]: String(letter.partition),
        [NOTE_HEADERS.offset]: letter.offset.toString(),
        ...(because === null ? { [NOTE_HEADERS.key]: key } : { [NOTE_HEADERS.because]: because }),
        [NOTE_HEADERS.operator]: operator,
        [NOTE_HEADERS.id]: id,
      };
      const note = { topic, key: letter.key, value: null, partition: letter.partition, headers };
      await publisher.publish(note).catch((error: unknown) => {
        throw cutOff(claims, index, error);
      });
    }
  } finally {
    await publisher.close();
  }
  for (let tries = 0; tries < OWN_NOTE_TRIES_MAX; tries += 1) {
    const read = await oncePublished('every mark is written', readNotes(settings));
    const notes = [...read.notes.values()].flat();
    const found = noted.map((claim) => firstBefore(notes, claim));
    if (found.every((first) => first !== 'not-there-yet')) return found;
    await delay(OWN_NOTE_PAUSE_MS);
  }
  throw new CliFailure(
    'noResult',
    'the dead letter may be marked: its note was written, but cannot be read until an open transaction on its partition ends. Then check with `dead-letters show`',
  );
}

/** @param failed index of the claim whose note was not confirmed; those after it were not tried */
function cutOff(claims: readonly LetterClaim[], failed: number, error: unknown): CliFailure {
  const mayBeMarked = error instanceof PublishError && error.mayBeWritten;
  const unmarked = mayBeMarked ? failed + 1 : failed;
  const named = (what: string, from: number, to: number): string => {
    const names = claims.slice(from, to).map(({ letter }) => letterName(letter));
    return names.length === 0 ? '' : `. ${what}: ${names.join(', ')}`;
  };
  return new CliFailure(
    mayBeMarked ? 'noResult' : 'failed',
    `not all dead letters are marked (${mayBeMarked ? reasonOf(error) : failureOf(error).message})` +
      named('Marked', 0, failed) +
      named('Perhaps marked', failed, unmarked) +
      named('Not marked', unmarked, claims.length),
  );
}

/** @param notes of all letters */
export function firstBefore(
  notes: readonly RedriveNote[],
  { id, isPayment, knownNotes, letter }: LetterClaim & { readonly id: string },
): ClaimedBy | 'not-there-yet' {
  const own = notes.find((note) => note.id === id);
  if (own === undefined) return 'not-there-yet';
  const known = new Set(knownNotes.map((note) => note.id));
  const isRival = (note: RedriveNote): boolean =>
    notedLetter(note) === letterName(letter) ||
    (isPayment && own.letterKey !== null && note.letterKey === own.letterKey);
  // Across lanes the order is unknown, so neither is published.
  const isEarlier = ({ offset, partition }: RedriveNote): boolean => partition !== own.partition || offset < own.offset;
  return notes.find((note) => isRival(note) && isEarlier(note) && !known.has(note.id)) ?? null;
}
