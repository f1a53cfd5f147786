/** The unfinished entries of a ledger. */
import { decodeEntry } from '../../src/ledger/entry-record.ts';
import { ENTRY_PREFIX } from '../../src/ledger/ledger-records.ts';
import { LANES } from './stack-options.ts';
import type { Stack } from './stack.ts';

/** How many entries, by lane. */
export async function unfinishedByLane(stack: Pick<Stack, 'readLedger'>): Promise<number[]> {
  const lanes = Array.from({ length: LANES }, () => new Set<string>());
  for (const { key, value, partition } of await stack.readLedger()) {
    const name = key?.toString() ?? '';
    if (!name.startsWith(ENTRY_PREFIX) || value === null) continue;
    if (decodeEntry(value).phase.state === 'DONE') lanes[partition]?.delete(name);
    else lanes[partition]?.add(name);
  }
  return lanes.map((keys) => keys.size);
}
