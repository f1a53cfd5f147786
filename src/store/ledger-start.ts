/**
 * Decides where the ledger's reader begins: opens the local store and compares each lane's checkpoint with the topic. A
 * lane that does not fit is read from the beginning: the store was behind for too long, or the topic was recreated. If
 * the topic ends before a checkpoint, it has lost records (truncated, restored from a backup), and only the store still
 * knows calls that were made: the start waits. Once others have written past the checkpoint, the store has records that
 * the topic lost, and lacks those in their place: every lane is read again.
 */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import { askTopic, type TopicQuestions } from '../consumers/topic-questions.ts';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import type { LmdbLedgerIndex } from './lmdb-ledger-index.ts';

export interface LedgerStartOptions {
  readonly settings: KafkaSettings;
  readonly clientId: string;
  readonly topic: string;
  readonly laneCount: number;
  readonly index: LmdbLedgerIndex;
  /** The least time for which the ledger keeps a deletion, used if we are not authorized to read its configuration. */
  readonly tombstonesKeptMs: number;
  /** For how many milliseconds earlier attempts found that the ledger ends before a checkpoint; 0: none did. */
  readonly shortMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface OpenedLedger {
  /** Where each lane's part of the ledger ends for readers: the offset after the last committed record. */
  readonly ends: ReadonlyMap<number, bigint>;
  /** Null: the brokers have no topic ids. */
  readonly topicId: string | null;
  /** Milliseconds. A copy that paused for longer may have missed tombstones that are gone from the topic. */
  readonly awayMsMax: number;
}

/** The remaining share is for reading to the end, and for clock drift. */
const TOMBSTONES_SEEN_SHARE = 0.9;
const HOUR_MS = 3_600_000;
/** A shorter pause is normal on a busy machine, however the topic is configured. */
const AWAY_MS_MIN = 5_000;

/** For seconds after a broker was killed, its partitions seem to end too early. */
const SHORT_MS_MIN = 15_000;

/** Clocks of brokers differ by less. A record below our checkpoint that is newer by more is a recreated topic's. */
const CLOCK_DIFFERENCE_MS_MAX = 600_000;

interface Misfit {
  readonly lane: number;
  readonly reason: string;
}

/** The ledger seems to have lost records. Ask again: for seconds after a broker is killed, partitions end too early. */
export class LedgerShortenedError extends Error {
  override readonly name = 'LedgerShortenedError';

  constructor(topic: string, lane: number, nextOffset: bigint, end: bigint) {
    super(
      `the store has read ${topic}, partition ${lane}, up to offset ${nextOffset}, but the partition ends at offset ${end}. If this lasts, the ledger has lost records, and continuing could pay twice: see the runbook lost-internal-topic`,
    );
  }
}

/**
 * Opens the store; afterwards `checkpoint(lane)` says where to read each lane from. If it rejects, the store may be open.
 * @throws StateDirectoryError, LedgerShortenedError, or the client's error when no broker answers
 */
export async function openLedgerStore(options: LedgerStartOptions): Promise<OpenedLedger> {
  const { clientId, index, laneCount, log, settings, topic } = options;
  const ask = <Value>(use: (questions: TopicQuestions) => Promise<Value>): Promise<Value> =>
    askTopic(settings, { clientId: `${clientId}-start`, topic }, use);
  const { clusterId, topicId, keptMs } = await ask(async (questions) => ({
    topicId: await questions.topicId(),
    keptMs: await questions.tombstonesKeptMs(options.tombstonesKeptMs),
    clusterId: await questions.clusterId(),
  }));
  const awayMsMax = Math.max(AWAY_MS_MIN, Math.floor(keptMs * TOMBSTONES_SEEN_SHARE));
  const { folder, rebuiltBecause } = await index.open({ topic, laneCount, clusterId, topicId });
  if (rebuiltBecause !== null) log.warn({ event: 'ledger-store-rebuilt', folder, reason: rebuiltBecause });
  const { ends, misfits } = await ask((questions) => compareWithTopic(questions, options, awayMsMax));
  // Not earlier: if the brokers do not answer, the store is closed again.
  if (rebuiltBecause === null) log.info({ event: 'ledger-store-open', folder, keys: index.size() });
  for (const { lane, reason } of misfits) {
    log.warn({ event: 'ledger-store-lane-rebuilt', lane, reason });
    index.forgetLane(lane);
  }
  return { ends, topicId, awayMsMax };
}

async function compareWithTopic(
  questions: TopicQuestions,
  { clock, index, laneCount, shortMs, topic }: LedgerStartOptions,
  awayMsMax: number,
): Promise<{ ends: Map<number, bigint>; misfits: Misfit[] }> {
  const checkpoints = Array.from({ length: laneCount }, (_, lane) => index.checkpoint(lane));
  const latestMs = Math.max(...checkpoints.map(({ timestampMs }) => timestampMs));
  const [bounds, written] = [await questions.bounds(), await questions.written()];
  /** Empty for an unknown time. */
  const since = async (timeMs: number, afterMs: number): Promise<ReadonlyMap<number, bigint>> =>
    timeMs === 0 ? new Map() : questions.firstSince(timeMs + afterMs);
  // Everything in the store is older than this; in a recreated topic nothing is.
  const younger = await since(latestMs, CLOCK_DIFFERENCE_MS_MAX);
  const misfits: Misfit[] = [];
  for (const [lane, { appliedMs, nextOffset, timestampMs }] of checkpoints.entries()) {
    const { low, high } = bounds.get(lane) ?? { low: 0n, high: 0n };
    // The store has our own commits at once. Kafka may mark them much later, and readers do not get them until then.
    const end = written.get(lane) ?? high;
    const misfit = (reason: string): void => void misfits.push({ lane, reason });
    if (nextOffset === 0n) continue;
    if (nextOffset > end) throw new LedgerShortenedError(topic, lane, nextOffset, end);
    if (shortMs >= SHORT_MS_MIN)
      misfit(
        'the ledger ended below the offset up to which the store had read, and other processes may have written new records there since',
      );
    else if (nextOffset < low)
      misfit(`the store has read up to offset ${nextOffset}, but the partition begins at offset ${low}`);
    else {
      const later = younger.get(lane) ?? high;
      if (later < nextOffset && later < high)
        misfit(
          `the store has read up to offset ${nextOffset}, but the record at offset ${later} is newer than everything in the store: the topic must have been recreated`,
        );
      // A checkpoint at the end missed nothing; only the marker of the last transaction may follow it.
      else if (nextOffset + 1n < high) {
        const awayMs = clock.nowMs() - appliedMs;
        const missed = (await since(timestampMs, awayMsMax)).get(lane) ?? high;
        if (awayMs > awayMsMax) misfit(awayFor(awayMs, awayMsMax));
        else if (missed < high) misfit(`by the brokers' clocks, ${awayFor(awayMsMax, awayMsMax)}`);
      }
    }
  }
  const ends = new Map([...bounds].map(([lane, { high }]) => [lane, high]));
  return { ends, misfits };
}

function awayFor(awayMs: number, awayMsMax: number): string {
  return `the store has not read the ledger for at least ${hours(awayMs)} h: after ${hours(awayMsMax)} h compaction may have removed tombstones that it has not seen`;
}

function hours(ms: number): string {
  return (ms / HOUR_MS).toFixed(1);
}
