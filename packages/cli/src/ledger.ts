/**
 * Ledger entries, read from the topic: of one command, of many keys, or all that match. The lanes' owners are not involved.
 */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { readBounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { lanesInWords } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import type { Entry, Phase } from '../../../src/ledger/entry.ts';
import { decodeEntry } from '../../../src/ledger/entry-record.ts';
import {
  retentionRecords,
  keysKnownFromMs,
  RETENTION_KEY,
  type KeyRetention,
} from '../../../src/ledger/key-retention.ts';
import {
  positionRecords,
  ENTRY_PREFIX,
  POSITION_KEY,
  type PositionRecord,
} from '../../../src/ledger/ledger-records.ts';
import { learnSchema, LedgerFormatError, mayBeUnknown } from '../../../src/ledger/ledger-value.ts';
import { readTombstonesKeptMs } from '../../../src/producers/topic-admin.ts';
import { cliKafka, type CliSettings } from './context.ts';
import { isoOf } from './event-output.ts';
import { CliFailure } from './exit-codes.ts';
import { readTopics, requireNothingHidden, within } from './topic-reading.ts';

/** Kafka's own `delete.retention.ms`, for an operator who may not read the topic's. */
const DAY_MS = 86_400_000;

export interface EntryRecord {
  readonly lane: number;
  readonly offset: bigint;
  readonly timestampMs: number;
  /** Null: the key is forgotten from here on. */
  readonly entry: Entry | null;
}

/** The key of an entry's record; null for other kinds. Call it for every record, because some carry schemas. */
export function entryKeyOf({ key, value }: Pick<TopicRecord, 'key' | 'value'>): string | null {
  learnSchema(value);
  const name = key?.toString() ?? '';
  return name.startsWith(ENTRY_PREFIX) ? name.slice(ENTRY_PREFIX.length) : null;
}

/** @throws CliFailure for a record of another release */
function decodedBy<Value>(decode: (value: Buffer) => Value, { offset, value }: TopicRecord): Value | null {
  try {
    return value === null ? null : decode(value);
  } catch (error) {
    if (!(error instanceof LedgerFormatError)) throw error;
    throw new CliFailure(
      'failed',
      `${error.message} (offset ${offset}): use the command line of the processor's release`,
    );
  }
}

const entryIn = (record: TopicRecord): Entry | null => decodedBy(decodeEntry, record);

/**
 * @param record the last one with POSITION_KEY; null: the lane has none
 * @returns by topic: the lane has admitted every message before this offset
 * @throws CliFailure for a record of another release
 */
export function admittedBy(record: TopicRecord | null): PositionRecord['next'] {
  return record === null ? {} : (decodedBy((value) => positionRecords.decode(value), record)?.next ?? {});
}

/**
 * Reads the key's whole lane, except for compacted records.
 * @param onEntry called for each record of the key, oldest first
 * @param onOther called for each other record of the lane
 * @returns sentences about records that an open transaction hides
 * @throws CliFailure for a record of another release
 */
export async function readEntryRecords(
  settings: CliSettings,
  key: string,
  onEntry: (record: EntryRecord) => void,
  onOther: (record: TopicRecord) => void = () => undefined,
): Promise<readonly string[]> {
  return readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).ledger],
    laneOfKey: key,
    onRecord: (record) => {
      const { offset, partition: lane, timestampMs } = record;
      if (entryKeyOf(record) === key) onEntry({ lane, offset, timestampMs, entry: entryIn(record) });
      else onOther(record);
    },
  });
}

/** The current entry of a key, or null if the ledger does not have it. @throws CliFailure if a later one is hidden */
export async function readEntry(settings: CliSettings, key: string): Promise<Entry | null> {
  let entry: Entry | null = null;
  requireNothingHidden(await readEntryRecords(settings, key, (record) => (entry = record.entry)));
  return entry;
}

/** The ledger's knowledge of keys. */
export interface KnownKeys {
  /** The current entry of each key. Null: forgotten. Missing: the ledger has nothing of the key. */
  readonly entries: ReadonlyMap<string, Entry | null>;
  /** By lane: a key without an entry had no command with a result since this time. */
  readonly knownFromMs: readonly number[];
}

/**
 * Reads all lanes.
 * @throws CliFailure if an open transaction hides later records, or for a record of another release
 */
export async function readKeys(settings: CliSettings, keys: ReadonlySet<string>): Promise<KnownKeys> {
  const { ledger } = topicNames(settings.TOPIC_PREFIX);
  const lanes = (await readBounds(cliKafka(settings), [ledger])).length;
  const tombstonesKeptMs = await withAdmin(cliKafka(settings), (admin) => readTombstonesKeptMs(admin, ledger, DAY_MS));
  const entries = new Map<string, Entry | null>();
  // A lane without this record is new, or has lost its records.
  const retentions = Array.from({ length: lanes }, (): KeyRetention | null => null);
  let nowMs = Date.now();
  const hidden = await readTopics(settings, {
    topics: [ledger],
    onRecord: (record) => {
      // Our clock may be slow.
      nowMs = Math.max(nowMs, record.timestampMs);
      const key = entryKeyOf(record);
      if (key !== null && keys.has(key)) entries.set(key, entryIn(record));
      if (record.key?.toString() === RETENTION_KEY)
        retentions[record.partition] = decodedBy((value) => retentionRecords.decode(value), record);
    },
  });
  requireNothingHidden(hidden);
  // A forgotten key leaves a tombstone, which Kafka deletes after this time.
  const traceFromMs = nowMs - tombstonesKeptMs;
  return { entries, knownFromMs: retentions.map((one) => Math.max(traceFromMs, keysKnownFromMs(one, nowMs))) };
}

/** So many entries share one cause, and no one looks at them one by one. */
const KEPT_MAX = 10_000;

export interface ScannedEntry<Wanted extends Entry = Entry> {
  readonly lane: number;
  readonly entry: Wanted;
}

/**
 * Current entries of all lanes, within limits of time and number.
 * @param mayBe cheap filter on the key and the raw record, so that most records need no decoding
 * @param isWanted filter on the current entry
 * @returns the entries, and what was not read, in words
 * @throws the Kafka client's error; an Error naming the topic that does not exist; CliFailure for another release's ledger
 */
export async function scanLedger<Wanted extends Entry>(
  settings: CliSettings,
  readForMs: number,
  mayBe: (key: string, value: Buffer) => boolean,
  isWanted: (entry: Entry, lane: number) => entry is Wanted,
): Promise<{ found: ScannedEntry<Wanted>[]; cuts: string[] }> {
  const topics = [topicNames(settings.TOPIC_PREFIX).ledger];
  const lanes = await readBounds(cliKafka(settings), topics);
  const begun = new Set<number>();
  const found = new Map<string, ScannedEntry<Wanted>>();
  const cuts = new Set<string>();
  const onRecord = (record: TopicRecord): void => {
    const { partition: lane, value } = record;
    const key = entryKeyOf(record);
    if (key === null) {
      if (record.key?.toString() === POSITION_KEY) begun.add(lane);
      return;
    }
    const entry = value !== null && mayBe(key, value) ? entryIn(record) : null;
    if (entry === null || !isWanted(entry, lane)) found.delete(key);
    else if (found.has(key) || found.size < KEPT_MAX) found.set(key, { lane, entry });
    else cuts.add(`all beyond ${KEPT_MAX}, which will be listed once these are handled`);
  };
  const unread = await within(readForMs, 'the ledger', readTopics(settings, { topics, onRecord }));
  return { found: [...found.values()], cuts: [...cuts, ...(unread.length > 0 ? unread : notBegun(lanes, begun))] };
}

/** A lane writes its position within half a minute of opening, unless it stops earlier. The ledger keeps it forever. */
export function notBegun(lanes: readonly { readonly partition: number }[], begun: ReadonlySet<number>): string[] {
  const without = lanes.map(({ partition }) => partition).filter((lane) => !begun.has(lane));
  if (without.length === 0) return [];
  const named = lanesInWords(without.sort((left, right) => left - right));
  return [`the ledger of ${named}, which no processor has opened yet, or has only just opened, or which was lost`];
}

export type UnknownEntry = Entry & { readonly phase: Extract<Phase, { state: 'DONE' }> };

/** UNKNOWN results that wait for an operator's decision, oldest first. Otherwise like scanLedger. */
export async function readUnknownResults(
  settings: CliSettings,
  readForMs: number,
): Promise<{ found: ScannedEntry<UnknownEntry>[]; cuts: string[] }> {
  const { cuts, found } = await scanLedger(
    settings,
    readForMs,
    (_key, value) => mayBeUnknown(value),
    (entry): entry is UnknownEntry => entry.phase.state === 'DONE' && entry.phase.outcome === 'UNKNOWN',
  );
  return { cuts, found: found.sort((left, right) => left.entry.phase.completedMs - right.entry.phase.completedMs) };
}

/** Why the ledger has no entry of the key. */
export function noEntryText({ TOPIC_PREFIX }: Pick<CliSettings, 'TOPIC_PREFIX'>, key: string): string {
  return `the ledger has no entry of ${key} under TOPIC_PREFIX=${TOPIC_PREFIX}: the command is not admitted yet (see \`lag\`), or was forgotten after LEDGER_RETENTION`;
}

/** An entry's current action, or its outcome. */
export function phaseText({ phase, waits }: Entry): string {
  switch (phase.state) {
    case 'INTENT':
      return `attempt ${phase.attemptId} since ${isoOf(phase.atMs)}, timeout ${phase.timeoutMs} ms`;
    case 'PARKED':
      return `waits until ${isoOf(phase.untilMs)} (wait ${waits}): ${phase.reason}`;
    case 'DOUBTFUL':
      return `to be settled at ${isoOf(phase.settleAtMs)} or later: ${phase.reason}`;
    case 'QUOTED':
      return 'the quote is recorded; its execution follows';
    case 'DONE':
      return phase.outcome;
  }
}
