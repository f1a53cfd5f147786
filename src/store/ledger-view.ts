/**
 * The ledger's view of all lanes, as far as this process has read it: a warm standby knows other processes' lanes as well as its own.
 * Only the operations side asks. Each answer has a bounded cost, however large the ledger is.
 */
import { decodeHolds, NO_HOLDS, type HoldsRecord } from '../ledger/holds.ts';
import { HOLD_KEY, type OwnerRecord } from '../ledger/ledger-records.ts';
import { readable } from '../ledger/ledger-value.ts';
import type { UnknownResult, UnknownResults } from './ledger-index.ts';
import type { LedgerReader } from './ledger-reader.ts';
import type { LedgerRestore, RestoreStatus } from './ledger-restore.ts';
import type { DiskUse, LmdbLedgerIndex } from './lmdb-ledger-index.ts';

export interface LedgerLaneStatus {
  readonly lane: number;
  /** The last owner; null: there was none, or this release cannot read its record. */
  readonly owner: OwnerRecord | null;
  /** Everything before this offset has been read. */
  readonly nextOffset: bigint;
  /** UNKNOWN results, for each command that has any. */
  readonly unknown: readonly UnknownResults[];
  /** Operators' holds by command type, including expired ones. */
  readonly holds: HoldsRecord['holds'];
}

export interface LedgerStatus {
  /** All lanes, including those of other processes; empty while the local store is not open. */
  readonly lanes: readonly LedgerLaneStatus[];
  /** The oldest UNKNOWN results of all lanes, oldest first, at most OLDEST_UNKNOWN_MAX. */
  readonly oldestUnknown: readonly (UnknownResult & { readonly lane: number })[];
  readonly restore: RestoreStatus | null;
  /** Null while the local store is not open. */
  readonly disk: DiskUse | null;
}

/** As many as fit on a page; the ledger has them all. */
const OLDEST_UNKNOWN_MAX = 20;

export interface LedgerViewParts {
  readonly laneCount: number;
  readonly index: Pick<LmdbLedgerIndex, 'isOpen' | 'owner' | 'unknown' | 'oldestUnknown' | 'value' | 'disk'>;
  readonly reader: Pick<LedgerReader, 'position'>;
  readonly restore: Pick<LedgerRestore, 'status'>;
}

export function ledgerStatus({ index, laneCount, reader, restore }: LedgerViewParts): LedgerStatus {
  if (!index.isOpen()) return { lanes: [], oldestUnknown: [], restore: restore.status(), disk: null };
  const lanes = Array.from({ length: laneCount }, (_, lane): LedgerLaneStatus => {
    const { holds } = readable(() => decodeHolds(index.value(lane, HOLD_KEY))) ?? NO_HOLDS;
    const owner = readable(() => index.owner(lane)) ?? null;
    return { lane, owner, nextOffset: reader.position(lane), unknown: index.unknown(lane), holds };
  });
  const oldestUnknown = lanes
    .filter(({ unknown }) => unknown.length > 0)
    .flatMap(({ lane }) => index.oldestUnknown(lane, OLDEST_UNKNOWN_MAX).map((result) => ({ ...result, lane })))
    .sort((left, right) => left.completedMs - right.completedMs)
    .slice(0, OLDEST_UNKNOWN_MAX);
  return { lanes, oldestUnknown, restore: restore.status(), disk: index.disk() };
}

/** The number of lanes that an owner's record has instead of ours; null: none. A lane of another format stops by itself. */
export function otherLaneCount(index: Pick<LmdbLedgerIndex, 'owner'>, laneCount: number): number | null {
  const recorded = Array.from({ length: laneCount }, (_, lane) => readable(() => index.owner(lane))?.laneCount ?? 0);
  return recorded.find((count) => count !== 0 && count !== laneCount) ?? null;
}
