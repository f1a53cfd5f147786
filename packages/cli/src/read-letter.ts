/** One dead letter, by its place; several, by their reason. */
import { firstRecordsFrom, type RawRecord } from 'payment-processor-client/internal/kafka/record-at';
import { partitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { topicNames } from 'payment-processor-contract/topics';
import { cliKafka, type CliSettings } from './context.ts';
import { CliFailure } from './exit-codes.ts';
import { letterName, noteOf, noteText, type RedriveNote } from './redrive-notes.ts';
import { readTopics } from './topic-reading.ts';

export const PLACE_HELP = 'partition/offset as `list` shows it, or topic/partition/offset';

/** @throws CliFailure for what is no place, and where there is no dead letter */
export async function readLetter(settings: CliSettings, place: string): Promise<RawRecord> {
  const topic = topicNames(settings.TOPIC_PREFIX).deadLetters;
  const match = /^(?:(.+)\/)?(\d{1,4})\/(\d{1,18})$/.exec(place);
  if (match === null) throw new CliFailure('usage', `${place} is no place: give ${PLACE_HELP}`);
  if (match[1] !== undefined && match[1] !== topic) {
    throw new CliFailure('usage', `${match[1]} is not the topic of the dead letters, ${topic}: see TOPIC_PREFIX`);
  }
  const partition = Number(match[2]);
  const offset = BigInt(match[3] ?? '');
  const kafka = cliKafka(settings);
  const bounds = await withAdmin(kafka, async (admin) => {
    if (!(await admin.listTopics()).includes(topic)) {
      throw new CliFailure('notFound', `topic ${topic} does not exist: run \`npm run cli -- topics create\``);
    }
    return (await partitionOffsets(admin, topic)).get(partition);
  });
  const endOffset = bounds?.high ?? 0n;
  const isThere = offset >= (bounds?.low ?? 0n);
  const places = isThere ? [{ topic, partition, offset, endOffset }] : [];
  const [record] = (await firstRecordsFrom(kafka, `${settings.TOPIC_PREFIX}-cli`, places)).values();
  if (record?.offset !== offset) {
    throw new CliFailure(
      'notFound',
      `there is no dead letter at ${topic}, partition ${partition}, offset ${offset}: see \`dead-letters list\``,
    );
  }
  const headers = Object.fromEntries(
    Object.entries(record.headers).map(([name, [first]]) => [name, first?.toString() ?? '']),
  );
  const note = noteOf({ ...record, headers });
  if (note !== null) {
    throw new CliFailure(
      'notFound',
      `there is no dead letter at ${place}, but a note on ${letterName({ partition: note.partition, offset: note.letterOffset })}: it was ${noteText(note)}`,
    );
  }
  return record;
}

export interface LettersOfReason {
  /** Oldest first by lane, no more than were asked for. */
  readonly letters: readonly RawRecord[];
  /** Of the reason: redriven before. */
  readonly redriven: number;
  /** Of the reason, not redriven, and beyond what was asked for. */
  readonly beyond: number;
}

/**
 * @param notes of all redrives
 * @param limit of letters that are kept, with their bytes
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
