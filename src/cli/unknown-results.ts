/**
 * The results UNKNOWN that wait for an operator's decision, read from the ledger topic: all lanes, whoever owns them. Reads
 * alone; within a limit of time, and of how many are kept.
 */
import type { Config } from '../config.ts';
import { openTopicReader, type TopicRecord } from '../consumers/outside/topic-reader.ts';
import type { Entry } from '../ledger/entry.ts';
import { ENTRY_PREFIX } from '../ledger/ledger-records.ts';
import type { KafkaSettings } from '../producers/kafka-client.ts';
import { topicNames } from '../records/topics.ts';
import { cliKafka } from './context.ts';
import { entryRecordOf } from './ledger-entries.ts';
import { within } from './story/time-box.ts';

type LedgerSettings = KafkaSettings & Pick<Config, 'TOPIC_PREFIX'>;

/** So many have one cause, and are not looked at one by one. */
const KEPT_MAX = 10_000;
/** Every record of such an entry holds it; most others need not be decoded. */
const MARK = Buffer.from('"UNKNOWN"');

export interface UnknownResult {
  readonly lane: number;
  readonly entry: Entry;
  /** When the result came, ms. */
  readonly completedMs: number;
  /** The result as it lies in the results topic. */
  readonly value: Buffer;
}

export interface UnknownResults {
  /** Oldest first. */
  readonly results: readonly UnknownResult[];
  /** What was not read, in sentences. */
  readonly cuts: readonly string[];
}

/**
 * @param readForMs longest time of the reading
 * @throws the Kafka client's error; an Error naming the topic that does not exist; CliFailure for another release's ledger
 */
export async function readUnknownResults(settings: LedgerSettings, readForMs: number): Promise<UnknownResults> {
  const found = new Map<string, UnknownResult>();
  const cuts = new Set<string>();
  const reading = readLedger(settings, (record) => {
    const name = record.key?.toString() ?? '';
    if (!name.startsWith(ENTRY_PREFIX)) return;
    const result = record.value?.includes(MARK) === true ? unknownIn(record) : null;
    if (result === null) found.delete(name);
    else if (found.has(name) || found.size < KEPT_MAX) found.set(name, result);
    else cuts.add(`there are more than ${KEPT_MAX}: the others are listed when these are decided`);
  });
  const boxed = await within(readForMs, 'the ledger', reading);
  return {
    results: [...found.values()].sort((left, right) => left.completedMs - right.completedMs),
    cuts: [...cuts, ...(boxed.kind === 'cut' ? [boxed.sentence] : [])],
  };
}

async function readLedger(settings: LedgerSettings, onRecord: (record: TopicRecord) => void): Promise<void> {
  const reader = await openTopicReader(cliKafka(settings), {
    topics: [topicNames(settings.TOPIC_PREFIX).ledger],
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
    onRecord,
  });
  try {
    await reader.ended;
  } finally {
    await reader.close();
  }
}

function unknownIn(record: TopicRecord): UnknownResult | null {
  const { entry, lane } = entryRecordOf(record);
  if (entry?.phase.state !== 'DONE' || entry.phase.outcome !== 'UNKNOWN') return null;
  return { lane, entry, completedMs: entry.phase.completedMs, value: entry.phase.result.value };
}
