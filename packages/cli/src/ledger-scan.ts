/** The present entries of the ledger that are asked for: all lanes, whoever owns them. Reads alone, within limits of time and number. */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { Entry } from '../../../src/ledger/entry.ts';
import { ENTRY_PREFIX, OWNER_KEY } from '../../../src/ledger/ledger-records.ts';
import { learnSchema } from '../../../src/ledger/ledger-value.ts';
import { readBounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { lanesInWords } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { cliKafka, type CliSettings } from './context.ts';
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
  settings: CliSettings,
  readForMs: number,
  mayBe: (key: string, value: Buffer) => boolean,
  isAsked: (entry: Entry) => boolean,
): Promise<LedgerScan> {
  const topic = topicNames(settings.TOPIC_PREFIX).ledger;
  const lanes = await readBounds(cliKafka(settings), [topic]);
  const owned = new Set<number>();
  const found = new Map<string, ScannedEntry>();
  const cuts = new Set<string>();
  const onRecord = (record: TopicRecord): void => {
    learnSchema(record.value);
    const name = record.key?.toString() ?? '';
    if (name === OWNER_KEY) owned.add(record.partition);
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
  const { done, hidden } = await beginReading(settings, { topics: [topic], onRecord });
  const boxed = await within(readForMs, 'the ledger', done);
  const unread = boxed.kind === 'cut' ? [boxed.sentence] : ownerless(lanes, owned);
  return { found: [...found.values()], cuts: [...cuts, ...hidden, ...unread] };
}

/** Whoever opens a lane leaves a record in its ledger, which is kept for good. */
export function ownerless(lanes: readonly { readonly partition: number }[], owned: ReadonlySet<number>): string[] {
  const without = lanes.map(({ partition }) => partition).filter((lane) => !owned.has(lane));
  return without.length === 0
    ? []
    : [
        `the ledger of ${lanesInWords(without.sort((left, right) => left - right))}: no processor has opened it yet, or it was lost`,
      ];
}
