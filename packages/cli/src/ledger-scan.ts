/** The present entries of the ledger that are asked for: all lanes, whoever owns them. Reads alone, within limits of time and number. */
import type { Config } from 'payment-processor-contract/config';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { Entry } from '../../../src/ledger/entry.ts';
import { ENTRY_PREFIX } from '../../../src/ledger/ledger-records.ts';
import { learnSchema } from '../../../src/ledger/ledger-value.ts';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { topicNames } from 'payment-processor-contract/topics';
import { entryRecordOf } from './ledger-entries.ts';
import { within } from './story/time-box.ts';
import { beginReading } from './whole-topics.ts';

/** So many have one cause, and are not looked at one by one. */
const KEPT_MAX = 10_000;

export interface ScannedEntry {
  readonly lane: number;
  readonly entry: Entry;
}

export interface LedgerScan {
  readonly found: readonly ScannedEntry[];
  /** What was not read, in sentences. */
  readonly cuts: readonly string[];
}

/**
 * @param mayBe of the key and the record as it lies there, so that most need not be decoded
 * @param isAsked of the present entry
 * @throws the Kafka client's error; an Error naming the topic that does not exist; CliFailure for another release's ledger
 */
export async function scanLedger(
  settings: KafkaSettings & Pick<Config, 'TOPIC_PREFIX'>,
  readForMs: number,
  mayBe: (key: string, value: Buffer) => boolean,
  isAsked: (entry: Entry) => boolean,
): Promise<LedgerScan> {
  const found = new Map<string, ScannedEntry>();
  const cuts = new Set<string>();
  const onRecord = (record: TopicRecord): void => {
    learnSchema(record.value);
    const name = record.key?.toString() ?? '';
    if (!name.startsWith(ENTRY_PREFIX)) return;
    const key = name.slice(ENTRY_PREFIX.length);
    const { entry, lane } =
      record.value !== null && mayBe(key, record.value)
        ? entryRecordOf(record)
        : { entry: null, lane: record.partition };
    if (entry === null || !isAsked(entry)) found.delete(key);
    else if (found.has(key) || found.size < KEPT_MAX) found.set(key, { lane, entry });
    else cuts.add(`there are more than ${KEPT_MAX}: the others are listed when these are over`);
  };
  const { done } = await beginReading(settings, { topics: [topicNames(settings.TOPIC_PREFIX).ledger], onRecord });
  const boxed = await within(readForMs, 'the ledger', done);
  return { found: [...found.values()], cuts: [...cuts, ...(boxed.kind === 'cut' ? [boxed.sentence] : [])] };
}
