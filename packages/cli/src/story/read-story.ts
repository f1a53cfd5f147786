/**
 * Reads everything in the topics about one key: the key's lane of the command topics, of decisions, results and dead
 * letters; its entry in the ledger; and the status changes of its transaction and its quote.
 *
 * Bounded: the newest offsets of each partition, a number of records of each kind, and a time for each part. The ledger
 * is compacted, so the key's lane of it is read whole; status changes are read whole, too.
 */
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { isRawNumber } from 'payment-processor-contract/lossless-json';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandResult } from 'payment-processor-contract/types';
import { cliKafka } from '../context.ts';
import { summaryOf, type LetterSummary } from '../dead-letter.ts';
import { decodedMessage, messageContent, type Content } from '../message-content.ts';
import { POSITION_KEY } from '../../../../src/ledger/ledger-records.ts';
import { admittedBy, readEntryRecords, type EntryRecord } from '../ledger.ts';
import type { Output } from '../output.ts';
import { readTopics, within } from '../topic-reading.ts';
import { letterName, notedLetter, noteOf, type RedriveNote } from '../redrive-note.ts';
import { readStatusHistory, type StatusEvent } from '../status-history.ts';
import {
  isOfMessage,
  keepSome,
  movedFromOf,
  paymentIdOf,
  type Published,
  type PublishedMessage,
  type Story,
  type StoryDecision,
} from './story.ts';

export interface StoryLimits {
  /** How many of the newest offsets to read in each partition. */
  readonly newest: number;
  /** Longest time of each part of the reading, ms. */
  readonly readForMs: number;
}

/** Limit of records per kind and key: a list of a thousand copies helps no one. */
const RECORDS_MAX = 500;
const STRAYS_MAX = 100;

/** @throws the Kafka client's error; an Error naming the topics that do not exist; CliFailure for another release's ledger */
export async function readStory(
  settings: ClientSettings,
  key: string,
  { newest, readForMs }: StoryLimits,
  output: Output,
): Promise<Story> {
  const messages: PublishedMessage[] = [];
  const results: Published<CommandResult>[] = [];
  const decisions: Published<StoryDecision>[] = [];
  const letters: LetterSummary[] = [];
  const notes: RedriveNote[] = [];
  const entries: EntryRecord[] = [];
  const cuts: string[] = [];
  let position: TopicRecord | null = null;
  let leftOut = 0;
  const keep = <Item>(items: Item[], item: Item): void => {
    leftOut += keepSome(items, item, RECORDS_MAX);
  };

  const names = topicNames(settings.TOPIC_PREFIX);
  const typeOf = commandTypes(settings);
  const registry = createRegistry(settings);
  const onRecord = async (record: TopicRecord): Promise<void> => {
    const { headers, offset, partition, timestampMs, topic } = record;
    if (record.key?.toString() !== key) return;
    const place = { topic, partition, offset, timestampMs, headers };
    const commandType = typeOf.get(topic);
    if (topic === names.deadLetters) {
      const note = noteOf(record);
      if (note === null) keep(letters, summaryOf(record));
      else keep(notes, note);
    } else if (commandType !== undefined) {
      keep(messages, await publishedMessage(registry, record, commandType));
    } else {
      const content = await decodedMessage(registry, record);
      const result = { ...place, ...(content as Content<CommandResult>) };
      if (topic === names.results) leftOut += keepSome(results, result, RECORDS_MAX, isOfMessage);
      else keep(decisions, { ...place, ...decisionIn(content) });
    }
  };
  const ofTopics = readTopics(settings, {
    topics: [...(await existing(settings, typeOf)), names.operatorDecisions, names.results, names.deadLetters],
    laneOfKey: key,
    newest,
    onCut: (cut) => void cuts.push(`${cut} (--newest)`),
    onRecord,
  });
  const ofLedger = readEntryRecords(
    settings,
    key,
    (record) => keep(entries, record),
    (record) => {
      if (record.key?.toString() === POSITION_KEY) position = record;
    },
  );
  const unread = await Promise.all([
    within(readForMs, 'the topics of commands, decisions, results and dead letters', ofTopics),
    within(readForMs, 'the ledger', ofLedger),
  ]);
  const redrivenOf = Map.groupBy(notes, notedLetter);
  const story: Story = {
    key,
    messages,
    entries,
    admittedTo: admittedBy(position),
    results,
    decisions,
    letters: letters.map((letter) => ({ letter, redriven: redrivenOf.get(letterName(letter)) ?? [] })),
    changes: [],
    cuts,
    isCutShort: unread.flat().length > 0,
  };
  let changes: StatusEvent[] = [];
  const id = paymentIdOf(story);
  if (id !== null) {
    const reading = readStatusHistory(settings, id, output).then(({ events, hidden }) => {
      changes = events.slice(-RECORDS_MAX);
      leftOut += events.length - changes.length;
      return hidden;
    });
    unread.push(await within(readForMs, 'the topics of status changes', reading));
  }
  cuts.push(...unread.flat());
  if (leftOut > 0) cuts.push(`${leftOut} records of the key, beyond ${RECORDS_MAX} of a kind`);
  return { ...story, changes, isCutShort: unread.flat().length > 0 };
}

/**
 * Replaces the story's messages by those of its key in all lanes: their publisher uses another partitioner, and no
 * processor has moved them yet. It reads every lane, so use it only for keys that their own lane does not know.
 * @throws the Kafka client's error; an Error naming the topics that do not exist
 */
export async function withStrays(
  settings: ClientSettings,
  story: Story,
  { newest, readForMs }: StoryLimits,
): Promise<Story> {
  const typeOf = commandTypes(settings);
  const registry = createRegistry(settings);
  const messages: PublishedMessage[] = [];
  const cuts = new Set(story.cuts);
  let leftOut = 0;
  const reading = readTopics(settings, {
    topics: await existing(settings, typeOf),
    newest,
    onCut: (cut) => void cuts.add(`${cut} (--newest)`),
    onRecord: async (record) => {
      const commandType = typeOf.get(record.topic);
      if (commandType === undefined || record.key?.toString() !== story.key) return;
      const message = { ...(await publishedMessage(registry, record, commandType)), movedFrom: null };
      leftOut += keepSome(messages, message, STRAYS_MAX);
    },
  });
  const unread = await within(readForMs, 'the command topics in the other lanes', reading);
  for (const cut of unread) cuts.add(cut);
  if (leftOut > 0) cuts.add(`${leftOut} messages of the key, beyond ${STRAYS_MAX}`);
  return { ...story, messages, cuts: [...cuts], isCutShort: story.isCutShort || unread.length > 0 };
}

function commandTypes({ TOPIC_PREFIX }: ClientSettings): Map<string, CommandType> {
  const { commands } = topicNames(TOPIC_PREFIX);
  return new Map(COMMAND_TYPES.map((type) => [commands[type], type]));
}

/** Without SANDBOX_COMMANDS the sandbox command's topic may be missing, and no role has rights on it. */
async function existing(settings: ClientSettings, typeOf: ReadonlyMap<string, CommandType>): Promise<string[]> {
  const listed = await withAdmin(cliKafka(settings), (admin) => admin.listTopics());
  return [...typeOf].flatMap(([topic, type]) =>
    type === 'simulate-uma-receive' && !listed.includes(topic) ? [] : [topic],
  );
}

async function publishedMessage(
  registry: RecordRegistry,
  record: TopicRecord,
  commandType: CommandType,
): Promise<PublishedMessage> {
  const { headers, offset, partition, timestampMs, topic, value } = record;
  const place = { topic, partition, offset, timestampMs, headers };
  const content = await messageContent(registry, record, commandType);
  return { ...place, commandType, valueBytes: value?.length ?? 0, ...content, movedFrom: movedFromOf(headers) };
}

/** A publisher's JSON may have any form. */
function decisionIn({ problem, value }: Content<unknown>): Content<StoryDecision> {
  if (problem !== null) return { value: null, problem };
  const none = { value: null, problem: 'its fields are not those of a decision' } as const;
  const { decision, expectedRevision, operator, reason, transactionId } = value as Readonly<Record<string, unknown>>;
  if (typeof decision !== 'string' || typeof operator !== 'string' || typeof reason !== 'string') return none;
  const revision = isRawNumber(expectedRevision) ? expectedRevision.rawJSON : expectedRevision;
  if (typeof revision !== 'number' && typeof revision !== 'string') return none;
  const id = typeof transactionId === 'string' ? transactionId : null;
  return {
    value: { decision, operator, reason, expectedRevision: String(revision), transactionId: id },
    problem: null,
  };
}
