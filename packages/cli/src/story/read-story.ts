/**
 * Reads all that the topics say of one key, whoever owns its lane: the key's lane of the command topics, of decisions,
 * results and dead letters; its entry in the ledger; and the status changes of its transaction and its quote.
 *
 * Bounded: of each topic the newest offsets alone, of what is found so many records, and a time for all of it. The ledger is
 * compacted and read whole.
 */
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { isRawNumber } from 'payment-processor-contract/lossless-json';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandResult } from 'payment-processor-contract/types';
import { summaryOf } from '../dead-letter.ts';
import { decodedMessage, messageContent } from '../message-content.ts';
import { readEntryRecords, subjectOf, type EntryRecord } from '../ledger.ts';
import type { Output } from '../output.ts';
import { readTopics, within } from '../topic-reading.ts';
import { letterName, notedLetter, noteOf, type RedriveNote } from '../redrive-notes.ts';
import { readStatusHistory, type StatusEvent } from '../status-history.ts';
import type {
  PublishedDecision,
  PublishedMessage,
  PublishedResult,
  RecordPlace,
  Story,
  StoryDecision,
  StoryLetter,
} from './story.ts';

export interface StoryLimits {
  /** Offsets of each topic's partition that are read, those before its end. */
  readonly newest: number;
  /** Longest time of each part of the reading, ms. */
  readonly readForMs: number;
}

/** Records of one key that are shown, of each kind; whoever publishes a key a thousand times wants no list of them. */
const RECORDS_MAX = 500;

/** @throws the Kafka client's error; an Error naming the topics that do not exist; CliFailure for another release's ledger */
export async function readStory(
  settings: ClientSettings,
  key: string,
  limits: StoryLimits,
  output: Output,
): Promise<Story> {
  const found = new Found(settings, key);
  const entries: EntryRecord[] = [];
  let leftOut = 0;
  const unread = await Promise.all([
    within(limits.readForMs, 'the topics of commands, decisions, results and dead letters', found.read(limits.newest)),
    within(
      limits.readForMs,
      'the ledger',
      readEntryRecords(settings, key, (record) => void (leftOut += push(entries, record))),
    ),
  ]);
  const id = paymentIdOf(found.results, entries);
  let changes: StatusEvent[] = [];
  if (id !== null) {
    const reading = readStatusHistory(settings, id, output).then(({ events, hidden }) => {
      changes = events.slice(-RECORDS_MAX);
      leftOut += events.length - changes.length;
      return hidden;
    });
    unread.push(await within(limits.readForMs, 'the topics of status changes', reading));
  }
  const { decisions, messages, results } = found;
  return {
    key,
    messages,
    entries,
    results,
    decisions,
    letters: found.letters(),
    changes,
    cuts: [...found.cuts, ...unread.flat(), ...leftOutText(leftOut + found.leftOut)],
    isCutShort: unread.flat().length > 0,
  };
}

function leftOutText(count: number): string[] {
  return count === 0
    ? []
    : [`${count} records of the key are not shown: of each kind there are at most ${RECORDS_MAX}`];
}

/** What the lane's topics hold of the key, as it is found. */
class Found {
  readonly messages: PublishedMessage[] = [];
  readonly results: PublishedResult[] = [];
  readonly decisions: PublishedDecision[] = [];
  readonly cuts: string[] = [];
  /** Records of the key that there was no room for. */
  leftOut = 0;
  readonly #letters: StoryLetter['letter'][] = [];
  readonly #notes = new Map<string, RedriveNote[]>();
  readonly #settings: ClientSettings;
  readonly #key: string;
  readonly #registry: RecordRegistry;
  readonly #typeOf: ReadonlyMap<string, CommandType>;

  constructor(settings: ClientSettings, key: string) {
    this.#settings = settings;
    this.#key = key;
    this.#registry = createRegistry(settings);
    const { commands } = topicNames(settings.TOPIC_PREFIX);
    this.#typeOf = new Map(COMMAND_TYPES.map((type) => [commands[type], type]));
  }

  /** @returns what an open transaction hides from it, in sentences */
  async read(newest: number): Promise<readonly string[]> {
    const { deadLetters, operatorDecisions, results } = topicNames(this.#settings.TOPIC_PREFIX);
    return readTopics(this.#settings, {
      topics: [...this.#typeOf.keys(), operatorDecisions, results, deadLetters],
      laneOfKey: this.#key,
      newest,
      onCut: (cut) => void this.cuts.push(`${cut} (--newest)`),
      onRecord: async (record) => {
        if (record.topic === deadLetters) this.#takeLetter(record);
        else if (record.key?.toString() !== this.#key) return;
        else await this.#take(record, { operatorDecisions, results });
      },
    });
  }

  async #take(record: TopicRecord, topics: { operatorDecisions: string; results: string }): Promise<void> {
    const commandType = this.#typeOf.get(record.topic);
    if (record.topic === topics.results) this.leftOut += push(this.results, await this.#resultOf(record));
    else if (record.topic === topics.operatorDecisions) {
      this.leftOut += push(this.decisions, await this.#decisionOf(record));
    } else if (commandType !== undefined) {
      this.leftOut += push(this.messages, await this.#messageOf(record, commandType));
    }
  }

  letters(): StoryLetter[] {
    return this.#letters.map((letter) => ({ letter, redriven: this.#notes.get(letterName(letter)) ?? [] }));
  }

  #takeLetter(record: TopicRecord): void {
    if (record.key?.toString() !== this.#key) return;
    const note = noteOf(record);
    if (note === null) {
      this.leftOut += push(this.#letters, summaryOf(record));
      return;
    }
    const name = notedLetter(note);
    const notes = this.#notes.get(name) ?? [];
    this.leftOut += push(notes, note);
    this.#notes.set(name, notes);
  }

  async #messageOf(record: TopicRecord, commandType: CommandType): Promise<PublishedMessage> {
    const { headers } = record;
    const partition = headers['moved-partition'];
    const offset = headers['moved-offset'];
    return {
      ...placeOf(record),
      headers,
      commandType,
      valueBytes: record.value?.length ?? 0,
      content: await messageContent(this.#registry, record, commandType),
      movedFrom: partition === undefined || offset === undefined ? null : { partition, offset },
    };
  }

  async #resultOf(record: TopicRecord): Promise<PublishedResult> {
    const decoded = await decodedMessage(this.#registry, record);
    const content: PublishedResult['content'] =
      decoded.kind === 'record'
        ? { kind: 'result', result: decoded.value as CommandResult }
        : { kind: 'unread', problem: decoded.problem };
    return { ...placeOf(record), headers: record.headers, content };
  }

  async #decisionOf(record: TopicRecord): Promise<PublishedDecision> {
    const decoded = await decodedMessage(this.#registry, record);
    const decision = decoded.kind === 'record' ? decisionOf(decoded.value) : null;
    const content: PublishedDecision['content'] =
      decision === null
        ? { kind: 'unread', problem: decoded.kind === 'record' ? 'it is no decision' : decoded.problem }
        : { kind: 'decision', decision };
    return { ...placeOf(record), headers: record.headers, content };
  }
}

/** The oldest and the newest are kept where there are too many. @returns how many there were no room for: 0 or 1 */
function push<Item>(items: Item[], item: Item): number {
  items.push(item);
  if (items.length <= RECORDS_MAX) return 0;
  items.splice(RECORDS_MAX / 2, 1);
  return 1;
}

function placeOf({ offset, partition, timestampMs, topic }: TopicRecord): RecordPlace {
  return { topic, partition, offset, timestampMs };
}

/** JSON has what its publisher liked; null for what is no decision. */
function decisionOf(value: unknown): StoryDecision | null {
  const given = value as Readonly<Record<string, unknown>>;
  const { decision, expectedRevision, operator, reason, transactionId } = given;
  if (typeof decision !== 'string' || typeof operator !== 'string' || typeof reason !== 'string') return null;
  const revision = isRawNumber(expectedRevision) ? expectedRevision.rawJSON : expectedRevision;
  if (typeof revision !== 'number' && typeof revision !== 'string') return null;
  const id = typeof transactionId === 'string' ? transactionId : null;
  return { decision, operator, reason, expectedRevision: String(revision), transactionId: id };
}

/** The id of the payment: of its transaction, else of its quote; null where nothing names one. */
function paymentIdOf(results: readonly PublishedResult[], entries: readonly EntryRecord[]): string | null {
  const settled = results.flatMap(({ content }) => (content.kind === 'result' ? [content.result] : [])).reverse();
  const entry = entries.findLast((record) => record.entry !== null)?.entry ?? null;
  const subject = entry === null ? null : subjectOf(entry);
  const ids = [
    ...settled.flatMap(({ quote, transaction }) => [transaction?.id, quote?.transactionId, quote?.id]),
    subject?.transactionId,
    subject?.quoteId,
  ];
  return ids.find((id) => id !== null && id !== undefined && id !== '') ?? null;
}
