/** Reads dead letters: one by its place, or several by reason; and restores a letter's original message. */
import { createHash } from 'node:crypto';
import { placeName, type RawRecord } from 'payment-processor-client/internal/kafka/raw-record';
import { readBounds, TopicsMissingError } from 'payment-processor-client/internal/kafka/topic-bounds';
import { messageOf } from 'payment-processor-contract/registry-http';
import { topicNames } from 'payment-processor-contract/topics';
import { cliKafka, type CliSettings } from './context.ts';
import { inText, originalHeaders, sourceText, summaryOf } from './dead-letter.ts';
import { CliFailure, unsent } from './exit-codes.ts';
import { placeText } from './event-output.ts';
import { firstRecordsFrom } from './first-records.ts';
import { hiddenAt } from './lag.ts';
import { letterName, notedLetter, noteOf, noteText, type RedriveNote } from './redrive-note.ts';
import { readTopics, requireAllRead } from './topic-reading.ts';

export const PLACE_HELP = 'partition/offset as `list` shows it, or topic/partition/offset';

/** @returns null if there is no such topic, partition or committed record */
async function recordAt(
  settings: CliSettings,
  topic: string,
  partition: number,
  offset: bigint,
): Promise<RawRecord | null> {
  const kafka = cliKafka(settings);
  const bounds = await readBounds(kafka, [topic]).catch((error: unknown) => {
    if (error instanceof TopicsMissingError) return [];
    throw error;
  });
  if (!bounds.some((one) => one.partition === partition && offset >= one.low)) return null;
  const places = bounds.map((one) => ({ ...one, low: one.partition === partition ? offset : one.high }));
  const record = (await firstRecordsFrom(kafka, settings.TOPIC_PREFIX, places)).get(placeName({ topic, partition }));
  return record?.offset === offset ? record : null;
}

/** @throws CliFailure if the text is not a place, there is no dead letter, or an open transaction may hide it */
export async function readLetter(settings: CliSettings, place: string): Promise<RawRecord> {
  const topic = topicNames(settings.TOPIC_PREFIX).deadLetters;
  const match = /^(?:(.+)\/)?(\d{1,4})\/(\d{1,18})$/.exec(place);
  if (match === null) throw new CliFailure('usage', `${place} is not a place: give ${PLACE_HELP}`);
  if (match[1] !== undefined && match[1] !== topic) {
    throw new CliFailure('usage', `${match[1]} is not the topic of the dead letters, ${topic}: see TOPIC_PREFIX`);
  }
  const partition = Number(match[2]);
  const offset = BigInt(match[3] ?? '');
  const record = await recordAt(settings, topic, partition, offset);
  if (record === null) {
    const missing = { topic, partition, offset };
    requireAllRead(await hiddenAt(cliKafka(settings), missing));
    throw new CliFailure('notFound', `there is no dead letter at ${placeText(missing)}: see \`dead-letters list\``);
  }
  const note = noteOf(inText(record));
  if (note === null) return record;
  const name = notedLetter(note);
  throw new CliFailure(
    'notFound',
    `${place} is not a dead letter, but a note about the dead letter ${name}, which was ${noteText(note)}`,
  );
}

export interface LettersOfReason {
  /** Oldest first by lane, up to the limit. */
  readonly letters: readonly RawRecord[];
  /** Letters of the reason that were redriven or acknowledged before. */
  readonly redriven: number;
  /** Other letters of the reason, beyond the limit. */
  readonly beyond: number;
}

/**
 * @param notes of all redrives and acknowledgements
 * @param limit of letters to keep with their bytes
 */
export async function readLettersOf(
  settings: CliSettings,
  reason: string,
  notes: ReadonlyMap<string, readonly RedriveNote[]>,
  limit: number,
): Promise<LettersOfReason> {
  const letters: RawRecord[] = [];
  let redriven = 0;
  let beyond = 0;
  await readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
    onRecord: (record, raw) => {
      if (noteOf(record) !== null || record.headers['dlq-reason'] !== reason) return;
      if (notes.has(letterName(record))) redriven += 1;
      else if (letters.length < limit) letters.push(raw());
      else beyond += 1;
    },
  });
  return { letters, redriven, beyond };
}

/**
 * A message too large to copy becomes a dead letter by reference: the letter has only the first bytes of the value, its
 * length and its SHA-256. These identify the message at its original place.
 * @returns the letter with its whole value and headers
 * @throws CliFailure if the message is gone, or is another one
 */
export async function wholeLetter(settings: CliSettings, letter: RawRecord): Promise<RawRecord> {
  const { headers } = inText(letter);
  if (headers['dlq-by-reference'] !== 'true') return letter;
  const { source } = summaryOf(inText(letter));
  const refused = (why: string): CliFailure =>
    unsent(
      'refused',
      `the dead letter has only the beginning of its message. The whole message, at ${sourceText({ source })}, cannot be used: ${why}`,
    );
  const { topic, partition, offset } = source;
  const isPlace = topic !== null && /^\d{1,4} \d{1,18}$/.test(`${partition} ${offset}`);
  const reading = isPlace ? recordAt(settings, topic, Number(partition), BigInt(offset ?? '')) : Promise.resolve(null);
  const original = await reading.catch((error: unknown) => {
    throw refused(`reading it failed (${messageOf(error)})`);
  });
  if (original === null) throw refused('it was deleted, or its batch is unreadable; its publisher must send it again');
  const value = original.value ?? Buffer.alloc(0);
  const isSame =
    String(value.length) === headers['dlq-value-bytes'] &&
    createHash('sha256').update(value).digest('hex') === headers['dlq-value-sha256'];
  if (!isSame) throw refused('the message there has another length or SHA-256');
  const ownHeaders = Object.entries(letter.headers).filter(([name]) => name.startsWith('dlq-'));
  const whole = { ...originalHeaders(original), ...Object.fromEntries(ownHeaders) };
  // Keeps the letter's key: a usable key is never cut, and the letter's notes name it.
  return { ...letter, value: original.value, headers: whole };
}
