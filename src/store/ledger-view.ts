/**
 * What the copy of the ledger says about all lanes, those of other processes too, as far as this process has read it.
 * Only the operations side asks. Each answer has a bounded cost, however large the ledger is.
 */
import type { Entry } from '../ledger/entry.ts';
import type { HoldsRecord } from '../ledger/holds.ts';
import type { OwnerRecord } from '../ledger/ledger-records.ts';
import type { UnknownResult, UnknownResults } from './ledger-index.ts';
import type { DiskUse } from './disk-space.ts';

export interface LedgerLaneStatus {
  readonly lane: number;
  /** The last owner; null: there was none, or this release cannot read its record. */
  readonly owner: OwnerRecord | null;
  /** Everything before this offset has been read. */
  readonly nextOffset: bigint;
  /** UNKNOWN results, for each command that has any. */
  readonly unknown: readonly UnknownResults[];
  /** Operators' holds by command type, including expired ones; none if this release cannot read them. */
  readonly holds: HoldsRecord['holds'];
}

/** How long the process takes to restore the ledger at its start: until it has read what the ledger had then. */
export interface RestoreStatus {
  readonly isUnderWay: boolean;
  /** During the restore: the time so far. */
  readonly seconds: number;
}

export interface LedgerStatus {
  /** All lanes, including those of other processes; empty while the local store is not open. */
  readonly lanes: readonly LedgerLaneStatus[];
  /** The oldest UNKNOWN results of all lanes, oldest first, as many as fit on a page. */
  readonly oldestUnknown: readonly (UnknownResult & { readonly lane: number })[];
  readonly restore: RestoreStatus | null;
  /** Null while the local store is not open. */
  readonly disk: DiskUse | null;
}

/** The ledger's view of one command, in any lane. */
export type CommandView =
  /** The process is starting or shutting down: the local store is not open, or not read to the ledger's end. */
  | { readonly kind: 'not-read' }
  /** Written by a release whose records this one cannot read. */
  | { readonly kind: 'unreadable'; readonly lane: number; readonly problem: string }
  | { readonly kind: 'unknown'; readonly lane: number; readonly nextOffset: bigint }
  | {
      readonly kind: 'known';
      readonly lane: number;
      /** Owner of the lane; null if it never had one. */
      readonly owner: OwnerRecord | null;
      readonly entry: Entry;
    };
