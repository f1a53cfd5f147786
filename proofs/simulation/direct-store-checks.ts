/** Direct checks of the local store: what reads see between a commit and its write. The simulation has no disk for that. */
import { encodeEntry } from '../../src/ledger/entry-record.ts';
import { ENTRY_PREFIX } from '../../src/ledger/ledger-records.ts';
import { LaneStore, type LaneTables, type Table } from '../../src/store/lane-store.ts';
import { doneWith, entryAt } from '../../test/ledger/entries.ts';
import type { DirectCheck } from './direct-checks.ts';

const entry = doneWith(entryAt('transfer-in'), 'ACCEPTED');
const key = ENTRY_PREFIX + entry.key;

/** As much of a table as a lane needs, without a disk. */
function table(): Table {
  const rows = new Map<string, Buffer>();
  const nameOf = (place: Buffer): string => place.toString('hex');
  return {
    get: (place: Buffer) => rows.get(nameOf(place)),
    putSync: (place: Buffer, row: Buffer) => rows.set(nameOf(place), row),
    removeSync: (place: Buffer) => rows.delete(nameOf(place)),
    getRange: () => [],
  } as unknown as Table;
}

function store(): LaneStore {
  const tables: LaneTables = { rows: table(), places: table(), heads: table() };
  return new LaneStore(tables, 0);
}

function apply(lane: LaneStore, value: Buffer | null, offset: bigint): void {
  lane.apply([{ key, value, offset, timestampMs: 0 }], offset + 1n, 0);
}

function write(lane: LaneStore): void {
  lane.write();
  lane.written();
}

export const STORE_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'a copy is admitted as new between the commit of its key and the writing of it',
    holds: () => {
      const lane = store();
      apply(lane, encodeEntry(entry), 0n);
      return lane.entry(entry.key) !== undefined;
    },
  },
  {
    wrong: 'a copy is admitted as new once its key is written',
    holds: () => {
      const lane = store();
      apply(lane, encodeEntry(entry), 0n);
      write(lane);
      return lane.entry(entry.key) !== undefined && lane.head().next === 1n && lane.head().commands === 1;
    },
  },
  {
    wrong: 'a key that was forgotten is known until that is written',
    holds: () => {
      const lane = store();
      apply(lane, encodeEntry(entry), 0n);
      write(lane);
      apply(lane, null, 1n);
      const isForgotten = lane.entry(entry.key) === undefined;
      write(lane);
      return isForgotten && lane.entry(entry.key) === undefined && lane.head().commands === 0;
    },
  },
];
