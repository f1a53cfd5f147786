/**
 * Notes of redrives and acknowledgements, on the partition of their dead letter. The note of a redrive is written before the
 * message is published again, so that two concurrent redrives publish it once at most. Of new notes on the letter, and
 * on other letters that may be the same payment, only the first publishes. In several partitions no order is known:
 * none does.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { PublishError, RecordPublisher } from 'payment-processor-client/internal/kafka/record-publisher';
import { HANDLED, NOTE_HEADERS } from '../../../src/producers/dead-letter-notes.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, type CliSettings } from './context.ts';
import { CliFailure } from './exit-codes.ts';
import { failureOf, oncePublished, reasonOf } from './failures.ts';
import { RedriveFamilies } from './redrive-families.ts';
import { contentName, handledText, letterName, notedLetter, noteOf, type RedriveNote } from './redrive-note.ts';
import { readTopics } from './topic-reading.ts';

/** A lane's open transaction hides later records from readers, until it ends or times out after 15 s. */
const OWN_NOTE_TRIES_MAX = 10;
const OWN_NOTE_PAUSE_MS = 1_000;

/**
 * @returns every note by its letter's name, oldest first; and sentences about records that an open transaction hides
 */
export async function readNotes(
  settings: CliSettings,
): Promise<{ notes: Map<string, RedriveNote[]>; hidden: readonly string[] }> {
  const notes = new Map<string, RedriveNote[]>();
  const decisions = new Set<string>();
  const contents = new Map<string, string>();
  const { deadLetters, operatorDecisions } = topicNames(settings.TOPIC_PREFIX);
  const hidden = await readTopics(settings, {
    topics: [deadLetters],
    onRecord: (record) => {
      const note = noteOf(record);
      if (note === null) {
        if (record.headers['dlq-topic'] === operatorDecisions) decisions.add(letterName(record));
        else if (record.key === null) contents.set(letterName(record), contentName(record));
        return;
      }
      const name = notedLetter(note);
      const letterKey = decisions.has(name) ? null : note.letterKey;
      const known = { ...note, letterKey, letterContent: contents.get(name) ?? null };
      notes.set(name, [...(notes.get(name) ?? []), known]);
    },
  });
  return { notes, hidden };
}

/**
 * A dead letter to redrive or to acknowledge. A redrive may pay, and another letter of the same key may be the same
 * payment, even if it is published under another key.
 */
export interface LetterClaim extends Pick<RedriveNote, 'because' | 'key'> {
  readonly letter: { partition: number; offset: bigint; key: Buffer | null };
  readonly knownNotes: readonly RedriveNote[];
}

/** Null: the claim was first. Otherwise a note that forbids it. */
export type ClaimedBy = RedriveNote | null;

/**
 * Writes a note for each claim, and finds out which are the first after the known notes.
 * @returns in the order of the claims
 * @throws CliFailure if not all notes can be written, or they cannot be read in time: then nothing may be sent; the
 *   Kafka client's error if no broker answers at first
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
    const families = new RedriveFamilies(notes);
    const found = noted.map((claim) => firstBefore(notes, families, claim));
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
  families: RedriveFamilies,
  { because, id, knownNotes, letter }: LetterClaim & { readonly id: string },
): ClaimedBy | 'not-there-yet' {
  const own = notes.find((note) => note.id === id);
  if (own === undefined) return 'not-there-yet';
  const known = new Set(knownNotes.map((note) => note.id));
  const isRival = (note: RedriveNote): boolean =>
    notedLetter(note) === letterName(letter) || (because === null && families.areRelated(note, own));
  // Across partitions the order is unknown, so none is published.
  const isEarlier = ({ offset, partition }: RedriveNote): boolean => partition !== own.partition || offset < own.offset;
  return notes.find((note) => isRival(note) && isEarlier(note) && !known.has(note.id)) ?? null;
}
