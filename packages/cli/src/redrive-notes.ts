/**
 * Notes of redrives and acknowledgements, on the partition of their dead letter. That of a redrive is written before the
 * message is published again, so that two people at once redrive it once. Of the notes on it, and on other letters of its
 * key, that nobody had seen the first counts; the others publish nothing.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { RecordPublisher } from 'payment-processor-client/internal/kafka/record-publisher';
import { HANDLED, NOTE_HEADERS, notedOffset } from '../../../src/producers/dead-letter-notes.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, type CliSettings } from './context.ts';
import { isoOf } from './event-output.ts';
import { CliFailure } from './exit-codes.ts';
import { readTopics } from './topic-reading.ts';

/** A lane's open transaction hides what follows it from readers, until it ends or its time of 15 s is up. */
const OWN_NOTE_TRIES_MAX = 10;
const OWN_NOTE_PAUSE_MS = 1_000;

export interface RedriveNote {
  /** Of the dead letter. */
  readonly partition: number;
  readonly letterOffset: bigint;
  /** Its own, in the same partition. */
  readonly offset: bigint;
  /** The dead letter's own key; null: it had none. */
  readonly letterKey: string | null;
  /** Under which it was to be published; empty: it was acknowledged. */
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

/** @returns every note, by the name of its dead letter's place, each oldest first; and what an open transaction hides, in sentences */
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

/** The name of the letter that it is on. */
export function notedLetter({ letterOffset, partition }: RedriveNote): string {
  return letterName({ partition, offset: letterOffset });
}

/** What was done with a letter. */
function handledText({ because, key }: Pick<RedriveNote, 'because' | 'key'>): string {
  return because === null ? `redriven as ${key}` : `acknowledged (${because})`;
}

export function noteText(note: RedriveNote): string {
  return `${handledText(note)} by ${note.operator} at ${note.timestamp}`;
}

/** Who knows what became of it. */
export function whomToAsk({ because, key, operator }: RedriveNote): string {
  return because === null ? `look with \`show ${key}\`` : `ask ${operator}`;
}

/** Of a letter that another one of its key was handled before. */
export function otherLetterText(note: RedriveNote): string {
  return `another dead letter of the key ${note.letterKey}, ${notedLetter(note)}, was ${noteText(note)}: it may be the same payment; ${whomToAsk(note)}`;
}

/** A dead letter that somebody wants to redrive, or to acknowledge: to be open no more, for it was handled otherwise. */
export interface LetterClaim extends Pick<RedriveNote, 'because' | 'key'> {
  readonly letter: { partition: number; offset: bigint; key: Buffer | null };
  /** A command: another letter of its key may be the same payment, whatever key that is published under. */
  readonly isPayment: boolean;
  readonly knownNotes: readonly RedriveNote[];
}

/** Null: the claim was first. Else who was. */
export type ClaimedBy = RedriveNote | null;

/**
 * Writes a note for each, and finds out which of them are the first after those that are known.
 * @returns in the order of the claims
 * @throws CliFailure when the notes cannot be read in time: then nothing may be sent
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
    for (const { because, id, key, letter } of noted) {
      const headers = {
        'dlq-reason': because === null ? HANDLED.redriven : HANDLED.acknowledged,
        'dlq-message': `${handledText({ because, key })} by ${operator}`,
        [NOTE_HEADERS.partition]: String(letter.partition),
        [NOTE_HEADERS.offset]: letter.offset.toString(),
        ...(because === null ? { [NOTE_HEADERS.key]: key } : { [NOTE_HEADERS.because]: because }),
        [NOTE_HEADERS.operator]: operator,
        [NOTE_HEADERS.id]: id,
      };
      await publisher.publish({ topic, key: letter.key, value: null, partition: letter.partition, headers });
    }
  } finally {
    await publisher.close();
  }
  for (let tries = 0; tries < OWN_NOTE_TRIES_MAX; tries += 1) {
    const notes = [...(await readNotes(settings)).notes.values()].flat();
    const found = noted.map((claim) => firstBefore(notes, claim));
    if (found.every((first) => first !== 'not-there-yet')) return found;
    await delay(OWN_NOTE_PAUSE_MS);
  }
  throw new CliFailure(
    'failed',
    'the note was written and cannot be read yet, for a transaction on its partition stays open: `dead-letters show` has it when that is over',
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
  // Of two lanes nothing tells which was first: then neither is published.
  const isEarlier = ({ offset, partition }: RedriveNote): boolean => partition !== own.partition || offset < own.offset;
  return notes.find((note) => isRival(note) && isEarlier(note) && !known.has(note.id)) ?? null;
}
