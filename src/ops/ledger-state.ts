/**
 * The ledger as this process has read it: how far behind its end, how long the restore took, and who owns which lane by
 * its word. Pure.
 */
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import type { RestoreStatus } from '../store/ledger-restore.ts';
import type { DiskUse } from '../store/lmdb-ledger-index.ts';
import type { LedgerStatus } from '../store/ledger-view.ts';

export interface LaneOwner {
  readonly lane: number;
  /** Null: nobody has owned it yet. */
  readonly processId: string | null;
  readonly since: string | null;
}

export interface LedgerState {
  /** Offsets that are not applied, all lanes; null while it is not known where the ledger ends. */
  readonly behindRecords: number | null;
  /** Of the start; null before it began. */
  readonly restore: RestoreStatus | null;
  /** Whoever took each lane last: it may be gone since, or have been given another. */
  readonly owners: readonly LaneOwner[];
  /** Null while the local store is not open. */
  readonly disk: DiskUse | null;
}

/** @param ends of the ledger topic, by lane; undefined while Kafka has not answered */
export function ledgerState(
  ledger: LedgerStatus,
  ends: ReadonlyMap<number, PartitionOffsets> | undefined,
): LedgerState {
  return {
    behindRecords: ends === undefined || ledger.lanes.length === 0 ? null : behindRecords(ledger, ends),
    restore: ledger.restore,
    disk: ledger.disk,
    owners: ledger.lanes.map(({ lane, owner }) => {
      const since = owner === null ? null : new Date(owner.atMs).toISOString();
      return { lane, processId: owner?.processId ?? null, since };
    }),
  };
}

/** Those that compaction took away count as well: the figure is never too small. */
function behindRecords(ledger: LedgerStatus, ends: ReadonlyMap<number, PartitionOffsets>): number {
  return ledger.lanes.reduce((sum, { lane, nextOffset }) => {
    const endOffset = ends.get(lane)?.high ?? 0n;
    return sum + (endOffset > nextOffset ? Number(endOffset - nextOffset) : 0);
  }, 0);
}
