/** Direct checks of how a lane is taken: what decides between two owners needs instants that histories seldom meet. */
import type { LaneWriter } from '../../src/lanes/lane-writer.ts';
import { acquireOwnership } from '../../src/lanes/ownership.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import {
  CLAIM_PREFIX,
  encodeClaim,
  encodeOwner,
  encodeReleased,
  OWNER_KEY,
  RELEASED_KEY,
  type Claimant,
  type OwnerRecord,
} from '../../src/ledger/ledger-records.ts';
import type { DirectCheck } from './direct-checks.ts';
import { MemoryIndex } from './memory-index.ts';

const NOW_MS = 1_000;
/** Well after a lane gives up waiting. */
const LATE_MS = 5_000;
const silence = (): void => undefined;

function ownerOf(token: string): OwnerRecord {
  return { token, processId: 'other', transactionalId: 'group-process-other', atMs: 0, barren: 0 };
}

/** The lane before it is taken: its last owner, which ownership was released, and who has claimed it. */
function indexWith(owner: OwnerRecord, released: string | null, claimants: readonly Claimant[] = []): MemoryIndex {
  const index = new MemoryIndex(1);
  const written = { state: null, timestampMs: 0 };
  const records = [{ key: OWNER_KEY, value: encodeOwner(owner), offset: 0n, ...written }];
  if (released !== null) records.push({ key: RELEASED_KEY, value: encodeReleased(released), offset: 1n, ...written });
  for (const claimant of claimants) {
    const key = `${CLAIM_PREFIX}${claimant.transactionalId}`;
    records.push({ key, value: encodeClaim(claimant), offset: BigInt(records.length), ...written });
  }
  index.applyBatch(0, records, BigInt(records.length));
  return index;
}

/**
 * Takes a lane.
 * @param between owners that are read before our record, at each taking
 * @param onOwned called while our record is being written, with what fences an id
 * @returns what was fenced, how often our record was written, and which claims it took away
 */
async function taken(
  index: MemoryIndex,
  between: readonly (readonly OwnerRecord[])[],
  onOwned: (fence: (id: string) => void) => void = silence,
): Promise<{ fences: string[]; takings: number; withdrawals: string[] }> {
  const fences: string[] = [];
  const withdrawals: string[] = [];
  const fenced = new Set<string>();
  let takings = 0;
  const parts = {
    lane: 0,
    groupId: 'group',
    processId: 'own',
    policy: { apiTimeoutMs: 0 },
    index,
    reader: { seen: async () => between[takings] ?? [], position: () => 0n },
    clock: { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS },
    log: { warn: silence, error: silence },
    isMember: async () => false,
    committer: {
      fenced: () => new Set(fenced),
      fence: async (id: string) => {
        fences.push(id);
        fenced.add(id);
      },
    },
  };
  const writer = {
    transactionalId: 'group-process-own',
    own: async (_owner: OwnerRecord, withdrawn: readonly string[]) => {
      takings += 1;
      withdrawals.push(...withdrawn);
      onOwned((id) => fenced.add(id));
    },
  };
  await acquireOwnership(parts as unknown as LaneParts, writer as unknown as LaneWriter, () => true);
  return { fences, takings, withdrawals };
}

/** Takes a lane whose ledger, read to its end, does not have our record. */
async function takenUnseen(): Promise<unknown> {
  const parts = {
    lane: 0,
    groupId: 'group',
    processId: 'own',
    policy: { apiTimeoutMs: 0 },
    topics: { ledger: 'ledger' },
    index: new MemoryIndex(1),
    reader: { seen: () => new Promise(silence), position: () => 9n },
    offsets: { written: async () => ({ atMs: NOW_MS, ends: new Map([[0, 9n]]) }) },
    clock: { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS },
    committer: { fenced: () => new Set() },
  };
  const writer = { transactionalId: 'group-process-own', own: silence };
  return acquireOwnership(parts as unknown as LaneParts, writer as unknown as LaneWriter, () => true);
}

export const OWNERSHIP_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'a lane waits for a record of its own that compaction has taken away',
    holds: async () => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const timer = setTimeout(() => resolve(false), LATE_MS);
      takenUnseen().catch(() => resolve(true));
      const holds = await promise;
      clearTimeout(timer);
      return holds;
    },
  },
  {
    wrong: 'who claimed a lane before its last owner, and was fenced by nobody, may go on writing',
    holds: async () => {
      const frozen = { token: 'earlier', processId: 'frozen', transactionalId: 'group-process-frozen' };
      const { fences, withdrawals } = await taken(indexWith(ownerOf('last'), 'last', [frozen]), []);
      return [...fences, ...withdrawals].join() === 'group-process-frozen,group-process-frozen';
    },
  },
  {
    wrong: 'the release of an earlier ownership is taken for the last one’s',
    holds: async () => (await taken(indexWith(ownerOf('last'), 'earlier'), [])).fences.length === 1,
  },
  {
    wrong: 'an owner that was fenced only after our record was written may have committed since, and is not noticed',
    holds: async () => {
      const other = ownerOf('between');
      const fenceOther = (fence: (id: string) => void): void => fence(other.transactionalId ?? '');
      return (await taken(indexWith(ownerOf('last'), 'last'), [[other]], fenceOther)).takings > 1;
    },
  },
];
