/**
 * Where the ledger's reader begins: the local store is opened, and each lane's checkpoint is held against the topic.
 * What does not fit (the topic was made anew, restored from a backup, truncated) is read from the beginning.
 */
import type { Admin } from 'kafkajs';
import type { Logger } from 'pino';
import type { LmdbLedgerIndex } from '../ledger/lmdb-ledger-index.ts';
import { withAdmin } from '../producers/admin-session.ts';
import { createKafka, PATIENT_RETRY, type KafkaSettings } from '../producers/kafka-client.ts';
import { sleep } from './signal.ts';

export interface LedgerStartOptions {
  readonly settings: KafkaSettings;
  readonly clientId: string;
  readonly topic: string;
  readonly laneCount: number;
  readonly index: LmdbLedgerIndex;
  readonly log: Logger;
}

/** For seconds after a broker was killed its partitions seem to end earlier than they do. */
const END_PATIENCE_MS = 15_000;
const ASK_AGAIN_MS = 500;
/** Clocks of two owners may differ by this much; records of a topic that was made anew are younger than all others. */
const CLOCKS_MS = 600_000;

interface Misfit {
  readonly lane: number;
  readonly reason: string;
  /** It may be one of a broker that has just started. */
  readonly mayPass: boolean;
}

/**
 * Opens the store; afterwards `checkpoint(lane)` says where the lane is to be read from.
 * @returns where the lanes' parts of the ledger end now: the offset after the last record, by lane
 * @throws StateDirectoryError, or the client's error when no broker answers
 */
export async function openLedgerStore(options: LedgerStartOptions): Promise<Map<number, bigint>> {
  const { clientId, index, laneCount, log, settings, topic } = options;
  const kafka = createKafka(settings, `${clientId}-start`, { retry: PATIENT_RETRY });
  const { clusterId } = await withAdmin(kafka, (admin) => admin.describeCluster());
  const { folder, rebuiltBecause } = await index.open({ topic, laneCount, clusterId });
  if (rebuiltBecause === null) log.info({ event: 'ledger-store-open', folder, keys: index.size() });
  else log.warn({ event: 'ledger-store-rebuilt', folder, reason: rebuiltBecause });
  const untilMs = performance.now() + END_PATIENCE_MS;
  let { ends, misfits } = await withAdmin(kafka, (admin) => comparedWithTopic(admin, options));
  while (misfits.some(({ mayPass }) => mayPass) && performance.now() < untilMs) {
    await sleep(ASK_AGAIN_MS);
    ({ ends, misfits } = await withAdmin(kafka, (admin) => comparedWithTopic(admin, options)));
  }
  for (const { lane, reason } of misfits) {
    log.warn({ event: 'ledger-store-lane-rebuilt', lane, reason });
    index.forgetLane(lane);
  }
  return ends;
}

async function comparedWithTopic(
  admin: Admin,
  { index, laneCount, topic }: LedgerStartOptions,
): Promise<{ ends: Map<number, bigint>; misfits: Misfit[] }> {
  const checkpoints = Array.from({ length: laneCount }, (_, lane) => index.checkpoint(lane));
  const latestMs = Math.max(...checkpoints.map(({ timestampMs }) => timestampMs));
  const bounds = new Map((await admin.fetchTopicOffsets(topic)).map((offsets) => [offsets.partition, offsets]));
  // Everything in the store is older than this; a topic that was made anew has nothing that is.
  const later = await admin.fetchTopicOffsetsByTimestamp(topic, latestMs + CLOCKS_MS);
  const laterOffsets = new Map(later.map(({ partition, offset }) => [partition, BigInt(offset)]));
  const misfits = checkpoints.flatMap(({ nextOffset }, lane): Misfit[] => {
    const low = BigInt(bounds.get(lane)?.low ?? 0);
    const high = BigInt(bounds.get(lane)?.high ?? 0);
    const laterOffset = laterOffsets.get(lane) ?? high;
    if (nextOffset === 0n) return [];
    if (nextOffset < low)
      return [{ lane, mayPass: false, reason: `read up to ${nextOffset}, but it begins at ${low}` }];
    if (nextOffset > high) return [{ lane, mayPass: true, reason: `read up to ${nextOffset}, but it ends at ${high}` }];
    if (laterOffset < nextOffset && laterOffset < high) {
      return [{ lane, mayPass: false, reason: `the record at ${laterOffset} is younger than all that was read` }];
    }
    return [];
  });
  const ends = new Map([...bounds].map(([lane, { high }]) => [lane, BigInt(high)]));
  return { ends, misfits };
}
