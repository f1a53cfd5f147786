/**
 * What this process's copy of the ledger says: how far behind it is, and how long the restore took. Of all lanes,
 * because every member knows them: the owners, the operators' holds, and the UNKNOWN results that wait for a decision.
 * Pure.
 */
import { isInForce } from '../ledger/holds.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { instantMs } from 'payment-processor-contract/instants';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { keyHash } from 'payment-processor-contract/key-hash';
import type { DiskUse } from '../store/disk-space.ts';
import type { UnknownResults } from '../store/ledger-index.ts';
import type { LedgerStatus, RestoreStatus } from '../store/ledger-view.ts';
import { ageSeconds } from './lag.ts';

export interface LaneOwner {
  readonly lane: number;
  /** Null: the lane never had an owner, or this release cannot read its record. */
  readonly processId: string | null;
  readonly since: string | null;
}

export interface LedgerState {
  /** Offsets not yet applied, all lanes; null while the end of the ledger is unknown or the local store is not open. */
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

/** Compacted offsets count too; records written since `ends` was read do not. */
function behindRecords(ledger: LedgerStatus, ends: ReadonlyMap<number, PartitionOffsets>): number {
  return ledger.lanes.reduce((sum, { lane, nextOffset }) => {
    const endOffset = ends.get(lane)?.high ?? 0n;
    return sum + (endOffset > nextOffset ? Number(endOffset - nextOffset) : 0);
  }, 0);
}

/** Reasons are left out, because they may name accounts (invariant I9). */
export interface HoldState {
  readonly command: string;
  /** Lanes whose owners have confirmed the hold, ascending. */
  readonly lanes: readonly number[];
  readonly operator: string;
  /** When the operator ordered it. */
  readonly at: string;
  /** When it expires; null: only a release ends it. */
  readonly until: string | null;
  readonly seconds: number;
}

export function operatorHolds(ledger: LedgerStatus, nowMs: number): HoldState[] {
  const found = ledger.lanes.flatMap(({ holds, lane }) =>
    Object.entries(holds).map(([command, { at, operator, until }]) => ({
      ...{ command, lanes: [lane], operator, at, until },
      seconds: ageSeconds(instantMs(at) ?? nowMs, nowMs),
    })),
  );
  const inForce = Map.groupBy(
    found.filter((hold) => isInForce(hold, nowMs)),
    ({ at, command, operator }) => [command, at, operator].join('\n'),
  );
  return [...inForce.values()].flatMap((same) => {
    const lanes = same.flatMap((hold) => hold.lanes);
    return same.slice(0, 1).map((hold) => ({ ...hold, lanes }));
  });
}

export interface UnknownGroup {
  readonly command: CommandType;
  readonly count: number;
  readonly oldestSeconds: number;
}

/** Keys appear only as hashes (invariant I9). */
export interface WaitingUnknown {
  readonly keyHash: string;
  readonly command: CommandType;
  readonly lane: number;
  readonly ageSeconds: number;
}

export interface UnknownResultsState {
  /** All lanes. */
  readonly waiting: number;
  /** Null: none is waiting. */
  readonly oldestSeconds: number | null;
  /** The oldest of all lanes, oldest first. */
  readonly listed: readonly WaitingUnknown[];
  /** In this process's lanes, so that sums of metrics over all processes are right; only command types with UNKNOWN results. */
  readonly ofOwnLanes: readonly UnknownGroup[];
}

export function unknownResults(
  ledger: LedgerStatus,
  ownLanes: ReadonlySet<number>,
  nowMs: number,
): UnknownResultsState {
  const everywhere = groupsOf(
    ledger.lanes.flatMap(({ unknown }) => unknown),
    nowMs,
  );
  const own = ledger.lanes.filter(({ lane }) => ownLanes.has(lane));
  return {
    waiting: everywhere.reduce((sum, { count }) => sum + count, 0),
    oldestSeconds: everywhere.length === 0 ? null : Math.max(...everywhere.map(({ oldestSeconds }) => oldestSeconds)),
    listed: ledger.oldestUnknown.map(({ command, completedMs, key, lane }) => {
      return { keyHash: keyHash(key), command, lane, ageSeconds: ageSeconds(completedMs, nowMs) };
    }),
    ofOwnLanes: groupsOf(
      own.flatMap(({ unknown }) => unknown),
      nowMs,
    ),
  };
}

function groupsOf(unknown: readonly UnknownResults[], nowMs: number): UnknownGroup[] {
  return COMMAND_TYPES.flatMap((command) => {
    const found = unknown.filter((group) => group.command === command);
    if (found.length === 0) return [];
    const count = found.reduce((sum, group) => sum + group.count, 0);
    return [{ command, count, oldestSeconds: ageSeconds(Math.min(...found.map(({ oldestMs }) => oldestMs)), nowMs) }];
  });
}
