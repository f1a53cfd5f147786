/** The ledger's view of one command in any lane, as far as this process has read it. Reads one row. */
import type { Entry } from '../ledger/entry.ts';
import type { OwnerRecord } from '../ledger/ledger-records.ts';
import { LedgerFormatError } from '../ledger/ledger-value.ts';
import { laneOf } from 'payment-processor-contract/keys';
import type { LedgerReader } from './ledger-reader.ts';
import type { LmdbLedgerIndex } from './lmdb-ledger-index.ts';

export type CommandView =
  /** The local store is not open: the process is starting or shutting down. */
  | { readonly kind: 'not-open' }
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

export interface CommandViewParts {
  readonly laneCount: number;
  readonly index: Pick<LmdbLedgerIndex, 'isOpen' | 'entry' | 'owner'>;
  readonly reader: Pick<LedgerReader, 'position'>;
}

/** @param key of a command, without the prefix of the ledger */
export function commandView({ index, laneCount, reader }: CommandViewParts, key: string): CommandView {
  if (!index.isOpen()) return { kind: 'not-open' };
  const lane = laneOf(key, laneCount);
  try {
    const entry = index.entry(lane, key);
    if (entry === undefined) return { kind: 'unknown', lane, nextOffset: reader.position(lane) };
    return { kind: 'known', lane, entry, owner: index.owner(lane) ?? null };
  } catch (error) {
    if (error instanceof LedgerFormatError) return { kind: 'unreadable', lane, problem: error.message };
    throw error;
  }
}
