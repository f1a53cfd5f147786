/** The ledger's entries of one command, read from its lane of the ledger topic. */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { Entry } from '../../../src/ledger/entry.ts';
import { decodeEntry } from '../../../src/ledger/entry-record.ts';
import { ENTRY_PREFIX } from '../../../src/ledger/ledger-records.ts';
import { learnSchema, LedgerFormatError } from '../../../src/ledger/ledger-value.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { CliFailure } from './exit-codes.ts';
import { readTopics, requireNothingHidden } from './whole-topics.ts';
import type { CliSettings } from './context.ts';

export interface EntryRecord {
  lane: number;
  offset: bigint;
  timestampMs: number;
  /** Null: forgotten from here on. */
  entry: Entry | null;
}

/**
 * Reads the whole lane of the key, as far as compaction left it.
 * @param onEntry told of each record of the key, oldest first
 * @returns what an open transaction hides from it, in sentences
 * @throws CliFailure for a record of another release
 */
export async function readEntryRecords(
  settings: CliSettings,
  key: string,
  onEntry: (record: EntryRecord) => void,
): Promise<readonly string[]> {
  return readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).ledger],
    laneOfKey: key,
    onRecord: (record) => {
      learnSchema(record.value);
      if (record.key?.toString() === `${ENTRY_PREFIX}${key}`) onEntry(entryRecordOf(record));
    },
  });
}

/**
 * The present entries of many keys, by key; all lanes are read. Null: forgotten. None for a key that the ledger does not have.
 * @throws CliFailure where an open transaction hides later ones
 */
export async function readEntries(
  settings: CliSettings,
  keys: ReadonlySet<string>,
): Promise<Map<string, Entry | null>> {
  const entries = new Map<string, Entry | null>();
  const hidden = await readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).ledger],
    onRecord: (record) => {
      learnSchema(record.value);
      const name = record.key?.toString() ?? '';
      const key = name.slice(ENTRY_PREFIX.length);
      if (!name.startsWith(ENTRY_PREFIX) || !keys.has(key)) return;
      entries.set(key, entryRecordOf(record).entry);
    },
  });
  requireNothingHidden(hidden);
  return entries;
}

/** The present entry of a key, or null when the ledger does not have it. @throws CliFailure where a later one is hidden */
export async function readEntry(settings: CliSettings, key: string): Promise<Entry | null> {
  let entry: Entry | null = null;
  requireNothingHidden(await readEntryRecords(settings, key, (record) => (entry = record.entry)));
  return entry;
}

/** @throws CliFailure for a record of another release */
export function entryRecordOf(record: TopicRecord): EntryRecord {
  const { partition: lane, offset, timestampMs, value } = record;
  if (value === null) return { lane, offset, timestampMs, entry: null };
  try {
    return { lane, offset, timestampMs, entry: decodeEntry(value) };
  } catch (error) {
    if (!(error instanceof LedgerFormatError)) throw error;
    throw new CliFailure('failed', `${error.message} (offset ${offset}): use the tool of the processor's release`);
  }
}
