/**
 * What the ledger says of all lanes, as far as this process has read it: a warm standby knows as much of the others'
 * lanes as of its own. Asked by the operations side alone; each answer is bounded in cost, however large the ledger is.
 */
import { decodeHolds, NO_HOLDS, type HoldsRecord } from '../ledger/holds.ts';
import { HOLD_KEY, type OwnerRecord } from '../ledger/ledger-records.ts';
import { LedgerFormatError } from '../ledger/ledger-value.ts';
import type { UnknownResult, UnknownResults } from './ledger-index.ts';
import type { LedgerReader } from './ledger-reader.ts';
import type { LedgerRestore, RestoreStatus } from './ledger-restore.ts';
import type { DiskUse, LmdbLedgerIndex } from './lmdb-ledger-index.ts';

export interface LedgerLaneStatus {
  readonly lane: number;
  /** Who took it last; null: nobody yet, or a release whose records this one cannot read. */
  readonly owner: OwnerRecord | null;
  /** Everything below has been read. */
  readonly nextOffset: bigint;
  /** Results UNKNOWN, of each command that has any. */
  readonly unknown: readonly UnknownResults[];
  /** Of operators, by command type; those that have ended by themselves among them. */
  readonly holds: HoldsRecord['holds'];
}

export interface LedgerStatus {
  /** All of them, whoever owns them; none while the local store is not open. */
  readonly lanes: readonly LedgerLaneStatus[];
  /** Of all lanes those that were given first, oldest first, no more than OLDEST_UNKNOWN_MAX. */
  readonly oldestUnknown: readonly (UnknownResult & { readonly lane: number })[];
  readonly restore: RestoreStatus | null;
  /** Null while the local store is not open. */
  readonly disk: DiskUse | null;
}

/** What fits on a page; the ledger itself has them all. */
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

/** Undefined: there is none, or it is of a release whose records this one cannot read. */
function readable<Value>(read: () => Value | undefined): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof LedgerFormatError) return undefined;
    throw error;
  }
}
