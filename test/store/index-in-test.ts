/** An index in a temporary state directory, and records for it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LmdbLedgerIndex, type OpenedStore, type StoreIdentity } from '../../src/store/lmdb-ledger-index.ts';

export const LANES = 2;
export const IDENTITY: StoreIdentity = {
  topic: 'test.internal.ledger.v1',
  laneCount: LANES,
  clusterId: 'cluster-1',
  topicId: 'topic-1',
};

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'ledger-store-test-'));
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

export interface OpenIndex extends OpenedStore {
  readonly index: LmdbLedgerIndex;
  /** What the index called fatal. */
  readonly fatal: Error[];
}

export async function openIndex(stateDirectory: string, identity: Partial<StoreIdentity> = {}): Promise<OpenIndex> {
  const fatal: Error[] = [];
  const index = new LmdbLedgerIndex({
    stateDirectory,
    laneCount: identity.laneCount ?? LANES,
    nowMs: () => Date.now(),
    onFatal: (error) => fatal.push(error),
  });
  const opened = await index.open({ ...IDENTITY, ...identity });
  return { index, fatal, ...opened };
}
