/** How a lane is taken: whom the taker waits for, whom it fences, and what it writes. Histories rarely have these timings. */
import { afterEach, expect, test, vi } from 'vitest';
import { MemoryIndex } from '../../proofs/simulation/memory-index.ts';
import type { Committer } from '../../src/lanes/commits/committer.ts';
import { LaneWriter } from '../../src/lanes/commits/lane-writer.ts';
import { acquireOwnership, Waits } from '../../src/lanes/ownership/ownership.ts';
import {
  CLAIM_PREFIX,
  encodeClaim,
  ownerRecords,
  OWNER_KEY,
  type OwnerRecord,
} from '../../src/ledger/ledger-records.ts';
import { schemaRecords } from '../../src/ledger/ledger-value.ts';
import { partsWith, silence } from './lane-in-memory.ts';

const NOW_MS = 1_000;
const SESSION_MS = 3_000;
/** How often a taker looks at a lane that is not its own yet. */
const LOOKS = 5;
/** A taker that has not finished by then never will. */
const LOOKS_MAX = 100;
const SHORT_LOOK_MS = 100;
/** Longer than a taker waits for anything. */
const FROZEN_MS = 600_000;
const OTHER = 'group-process-other';
const LAST = ownerOf('last');

afterEach(() => void vi.useRealTimers());

function ownerOf(token: string): OwnerRecord {
  const counts = { atMs: 0, barren: 0, fencedCallUntilMs: 0, laneCount: 1 };
  return { token, processId: 'other', transactionalId: 'group-process-other', ...counts };
}

function put(index: MemoryIndex, key: string, value: Buffer | null): void {
  index.applyBatch(0, [{ key, value, offset: 0n, timestampMs: 0 }], 1n);
}

/** @param claim null: it is withdrawn */
function putClaim(index: MemoryIndex, id: string, claim: Parameters<typeof encodeClaim>[0] | null): void {
  put(index, CLAIM_PREFIX + id, claim === null ? null : encodeClaim(claim));
}

/** The lane before it is taken: who owned it last and, if `isFenced` is given, still claims it. */
function indexWith(owner: OwnerRecord, isFenced?: boolean): MemoryIndex {
  const index = new MemoryIndex(1);
  put(index, OWNER_KEY, ownerRecords.encode(owner));
  if (isFenced !== undefined) putClaim(index, owner.transactionalId, { ...owner, isFenced, releaseWithinMs: 0 });
  return index;
}

interface Scene {
  /** Owner records that are read before ours, for each taking. */
  readonly between?: readonly (readonly OwnerRecord[])[];
  /** Whether the other claimants still belong to the group, at each look. */
  readonly isMember?: (looks: number) => boolean;
  readonly isWanted?: (looks: number) => boolean;
  readonly isConfirmed?: () => boolean;
  readonly monotonicMs?: (looks: number) => number;
  /** The ledger's end, beyond what has been read. */
  readonly unreadEnd?: bigint;
  /** Called while our record is being written, with a function that fences an id. */
  readonly onOwned?: (fence: (id: string) => void) => void;
}

interface Taken {
  /** In order: fenced ids, our record, its withdrawal. */
  readonly happened: string[];
  /** Claims that our record withdrew. */
  readonly withdrawals: string[];
  readonly fencedCallUntilMs: number;
  /** Written before our record. */
  readonly schemas: ReadonlyMap<string, Buffer>;
}

/** Takes a lane; each look at its other claimants takes a second. */
async function taken(index: MemoryIndex, scene: Scene = {}): Promise<Taken> {
  const { between = [], isConfirmed, isMember, isWanted, monotonicMs, onOwned = silence, unreadEnd = 0n } = scene;
  const happened: string[] = [];
  const withdrawals: string[] = [];
  const fenced = new Set<string>();
  let written = { fencedCallUntilMs: 0, schemas: new Map() as ReadonlyMap<string, Buffer> };
  let takings = 0;
  let looks = 0;
  const parts = partsWith([], [], {
    ...{ index, groupId: 'group', sessionTimeoutMs: SESSION_MS },
    offsets: { highWatermarks: async () => new Map([[0, unreadEnd]]) },
    reader: { seen: async () => between[takings] ?? [], position: () => 0n },
    clock: {
      nowMs: () => NOW_MS,
      monotonicMs: () => {
        if (looks > LOOKS_MAX) throw new Error('it waits without end');
        return monotonicMs?.(looks) ?? looks * NOW_MS;
      },
    },
    log: { warn: silence, error: silence },
    isConfirmed: isConfirmed ?? (() => true),
    isMember: async () => {
      looks += 1;
      return isMember?.(looks) ?? false;
    },
    committer: {
      fenced: () => new Set(fenced),
      fence: async (id: string) => {
        happened.push(id);
        fenced.add(id);
      },
    },
  });
  const writer = {
    transactionalId: 'group-process-own',
    claim: async (owner: OwnerRecord, schemas: ReadonlyMap<string, Buffer>, withdrawn: readonly string[]) => {
      written = { fencedCallUntilMs: owner.fencedCallUntilMs, schemas };
      takings += 1;
      happened.push('claimed');
      withdrawals.push(...withdrawn);
      onOwned((id) => fenced.add(id));
    },
    withdraw: async () => void happened.push('withdrawn'),
  };
  const isStillWanted = (): boolean => isWanted?.(looks) ?? true;
  await acquireOwnership(parts, writer as unknown as LaneWriter, isStillWanted, new Waits());
  return { happened, withdrawals, ...written };
}

test('a lane does not wait for a record of its own that compaction has taken away', { timeout: 5_000 }, async () => {
  vi.useFakeTimers();
  const parts = partsWith([], [], {
    ...{ index: new MemoryIndex(1), groupId: 'group' },
    reader: { seen: () => new Promise(silence), position: () => 9n },
    offsets: { written: async () => ({ atMs: NOW_MS, ends: new Map([[0, 9n]]) }) },
    clock: { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS },
    committer: { fenced: () => new Set() },
  });
  const writer = { transactionalId: 'group-process-own', claim: silence } as unknown as LaneWriter;
  const refused = expect(acquireOwnership(parts, writer, () => true, new Waits())).rejects.toThrow('in the meantime');
  await vi.advanceTimersByTimeAsync(5_000);
  await refused;
});

test('an owner writes the schemas that its ledger lacks, and no others', async () => {
  const index = indexWith(LAST);
  const { schemas } = await taken(index);
  expect([...schemas.keys()]).toEqual([...schemaRecords().keys()]);
  for (const [key, value] of schemas) put(index, key, value);
  expect((await taken(index)).schemas.size).toBe(0);
});

test('who claimed a lane before its last owner, and was fenced by nobody, is fenced', async () => {
  const index = indexWith(LAST);
  putClaim(index, 'group-process-frozen', {
    token: 'earlier',
    processId: 'frozen',
    isFenced: false,
    releaseWithinMs: 0,
  });
  const { happened, withdrawals } = await taken(index);
  expect({ happened, withdrawals }).toEqual({
    happened: ['group-process-frozen', 'claimed'],
    withdrawals: ['group-process-frozen'],
  });
});

test('an owner that was fenced only after our record was written may have committed since: the lane is taken again', async () => {
  const { happened } = await taken(indexWith(LAST), {
    between: [[ownerOf('between')]],
    onOwned: (fence) => fence(OTHER),
  });
  expect(happened.filter((what) => what === 'claimed').length).toBeGreaterThan(1);
});

test.each<[string, Scene]>([
  ['that was called off while it waits', { isMember: () => true, isWanted: (looks) => looks < LOOKS }],
  ['that was called off while it asked for the owner', { isWanted: (looks) => looks < 1 }],
  ['whose group has not confirmed it', { isConfirmed: () => false, isWanted: (looks) => looks < LOOKS }],
])('a taker %s fences nobody, and claims nothing', async (_which, scene) => {
  expect((await taken(indexWith(LAST, false), scene)).happened).toEqual([]);
});

test('a live member that turns up between gets its time, and of two takers one withdraws', async () => {
  const other = ownerOf('between');
  const index = indexWith(LAST);
  const { happened } = await taken(index, {
    between: [[other]],
    onOwned: () => putClaim(index, OTHER, { ...other, isFenced: false, releaseWithinMs: 0 }),
    isMember: (looks) => {
      if (looks >= LOOKS) putClaim(index, OTHER, null);
      return true;
    },
  });
  expect(happened.slice(0, 3)).toEqual(['claimed', 'withdrawn', 'claimed']);
});

test('a process that was frozen while it waited for an owner is still patient', async () => {
  const index = indexWith(LAST, false);
  const { happened } = await taken(index, {
    isMember: (looks) => {
      if (looks >= LOOKS) putClaim(index, OTHER, null);
      return true;
    },
    monotonicMs: (looks) => (looks > 1 ? FROZEN_MS : 0) + looks * NOW_MS,
  });
  expect(happened).toEqual(['claimed']);
});

test.each([
  { look: LOOKS, unreadEnd: 1n },
  { look: 1, unreadEnd: 0n },
])('a member that left in order is not fenced before its release is read: %o', async ({ look, unreadEnd }) => {
  const index = indexWith(LAST, false);
  const isMember = (looks: number): boolean => {
    if (looks >= look) putClaim(index, OTHER, null);
    return false;
  };
  const { happened } = await taken(index, { unreadEnd, isMember, monotonicMs: (looks) => looks * SHORT_LOOK_MS });
  expect(happened).toEqual(['claimed']);
});

test('a member that was killed is fenced though its transaction holds readers up', async () => {
  expect((await taken(indexWith(LAST, false), { unreadEnd: 1n })).happened).toEqual([OTHER, 'claimed']);
});

test('an owner that fenced itself is not waited for, and its claim goes', async () => {
  const { happened, withdrawals } = await taken(indexWith(LAST, true), { isMember: () => true });
  expect({ happened, withdrawals }).toEqual({ happened: ['claimed'], withdrawals: [OTHER] });
});

test.each([
  ['was fenced: for a session more', indexWith(LAST, false), NOW_MS + SESSION_MS],
  ['fenced itself: no more', indexWith(LAST, true), 0],
  ['released it: as its predecessor said', indexWith({ ...LAST, fencedCallUntilMs: 1 }), 1],
  ['released it: no more', indexWith(LAST), 0],
])('an owner says until when its predecessor may call that %s', async (_which, index, untilMs) => {
  expect((await taken(index)).fencedCallUntilMs).toBe(untilMs);
});

test.each([
  ['before it claimed the lane writes nothing', false, []],
  ['while it claimed the lane withdraws its claim', true, [`${CLAIM_PREFIX}group-process-own`]],
])('a taker that was called off %s', async (_when, isUnderWay, wanted) => {
  const written: string[] = [];
  const loop = {
    ...{ transactionalId: 'group-process-own', isBroken: () => false, cancel: () => !isUnderWay },
    commit: async ({ records }: { records: readonly { key: string }[] }) => {
      written.push(...records.map(({ key }) => key));
      return new Promise(silence);
    },
  };
  const writer = new LaneWriter({ loop: () => loop } as unknown as Committer, { topic: 'ledger', partition: 0 });
  void writer.claim({ ...LAST, releaseWithinMs: 0 }, new Map(), []).catch(silence);
  written.length = 0;
  void writer.end();
  expect(written).toEqual(wanted);
});
