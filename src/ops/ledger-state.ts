/**
 * This process's copy of the ledger: how far behind it is, how long the restore took, and who owns each lane. Pure.
 */
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import type { LedgerStatus, RestoreStatus } from '../store/ledger-view.ts';
import type { DiskUse } from '../store/disk-space.ts';

export interface LaneOwner {
  readonly lane: number;
  /** Null: the lane never had an owner. */
  readonly processId: string | null;
  readonly since: string | null;
}

export interface LedgerState {
  /** Offsets not yet applied, all lanes; null while the end of the ledger is unknown. */
  readonly behindRecords: number | null;
  /** The restore at startup; null before it began. */
  readonly restore: RestoreStatus | null;
  /** The latest owner of each lane. It may be gone by now, or the group may have given it other lanes. */
  readonly owners: readonly LaneOwner[];
  /** Null while the local store is not open. */
  readonly disk: DiskUse | null;
}

/** @param ends ends of the ledger topic by lane; undefined until Kafka has answered */
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

/** Compacted offsets count too, so the figure is never too small. */
function behindRecords(ledger: LedgerStatus, ends: ReadonlyMap<number, PartitionOffsets>): number {
  return ledger.lanes.reduce((sum, { lane, nextOffset }) => {
    const endOffset = ends.get(lane)?.high ?? 0n;
    return sum + (endOffset > nextOffset ? Number(endOffset - nextOffset) : 0);
  }, 0);
}
