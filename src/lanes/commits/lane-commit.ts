/** The lanes' commits, and which of them go into one transaction. Pure. */
import { batchName, type OutgoingRecord } from '../../producers/record-batch.ts';
import type { PartitionName } from '../../producers/transaction-requests.ts';

/** What one lane commits. */
export interface LaneCommit {
  readonly lane: number;
  readonly records: readonly OutgoingRecord[];
  /** How much of the largest allowed batch the commit fills in each partition, from 0 to 1; by topic and partition. */
  readonly shares: ReadonlyMap<string, number>;
  readonly bytes: number;
}

/** A possible part of a transaction; it may have nothing to commit. */
interface Waiting {
  readonly commit: LaneCommit | null;
  readonly isRelease: boolean;
}

/** Limit over all lanes of one transaction. It bounds memory and the time until the commit. */
const TRANSACTION_BYTES_MAX = 8 * 1024 * 1024;

/**
 * @param isApart each lane has a transaction of its own; releases, which have no message, still share one
 * @returns the commits at the front of the queue, one per lane, while there is room; at least one if any waits
 */
export function fitting<Of extends Waiting>(waiting: readonly Of[], isApart: boolean): Of[] {
  const chosen: Of[] = [];
  const lanes = new Set<number>();
  const shares = new Map<string, number>();
  let bytes = 0;
  for (const candidate of waiting) {
    const { commit } = candidate;
    if (commit === null) continue;
    const mustWait =
      (isApart && !(candidate.isRelease && chosen[0]?.isRelease === true)) ||
      lanes.has(commit.lane) ||
      bytes + commit.bytes > TRANSACTION_BYTES_MAX ||
      [...commit.shares].some(([batch, share]) => (shares.get(batch) ?? 0) + share > 1);
    if (chosen.length > 0 && mustWait) break;
    chosen.push(candidate);
    lanes.add(commit.lane);
    bytes += commit.bytes;
    for (const [batch, share] of commit.shares) shares.set(batch, (shares.get(batch) ?? 0) + share);
  }
  return chosen;
}

export function recordsOf(chosen: readonly Pick<Waiting, 'commit'>[]): OutgoingRecord[] {
  return chosen.flatMap(({ commit }) => commit?.records ?? []);
}

export function partitionsOf(chosen: readonly Pick<Waiting, 'commit'>[]): PartitionName[] {
  const names = new Map(recordsOf(chosen).map((record) => [batchName(record.topic, record.partition), record]));
  return [...names.values()];
}
