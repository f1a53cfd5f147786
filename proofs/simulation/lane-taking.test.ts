/** A lane is taken while others own it, and remembers those owners from earlier attempts. */
import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from 'payment-processor-contract/clock';
import { Lane } from '../../src/lanes/lane.ts';
import { CLAIM_PREFIX, encodeClaim } from '../../src/ledger/ledger-records.ts';
import { partsWith, silence } from '../../test/lanes/lane-in-memory.ts';
import { MemoryIndex } from './memory-index.ts';

afterEach(() => void vi.useRealTimers());

function laneWith(changes: object): Lane {
  const parts = partsWith([], ['transfer-in'], {
    ...{ groupId: 'group', policy: { apiTimeoutMs: 1_000 }, sessionTimeoutMs: 0, index: new MemoryIndex(1) },
    retention: { doneMs: 1e9, transactionMs: 1e9 },
    reader: { seen: async () => [], fetchAgain: silence, ownCommitted: silence },
    calls: { onCapacity: silence, drain: silence, release: silence },
    clock: systemClock,
    log: { info: silence, warn: silence, error: silence },
    reports: { laneLost: silence },
    repeats: { unlogged: () => null },
    committer: committerWith({}),
    isMember: async () => false,
    member: { seek: silence, resume: silence, isConfirmedSinceMs: () => true },
    offsets: {
      startOf: async () => ({ lowOffset: 0n, highOffset: 5n, topicId: null, committedOffset: null }),
      highWatermarks: async () => new Map([[0, 0n]]),
    },
    ledgerTopicId: () => null,
    onStageChange: silence,
    ...changes,
  });
  return new Lane(parts);
}

function committerWith(changes: object): object {
  const loop = {
    transactionalId: 'group-process-1',
    commit: async (commit: unknown) => ({ commit, written: new Map() }),
    cancel: silence,
    isBroken: () => false,
    join: () => ({ wake: silence, leave: silence }),
  };
  return {
    loop: () => ({ ...loop, ...changes }),
    disown: silence,
    fence: async () => undefined,
    fenced: () => new Set(),
    ...changes,
  };
}

/** A lane that other processes have claimed. */
function claimedIndex(others: readonly string[] = ['other']): MemoryIndex {
  const index = new MemoryIndex(1);
  const records = others.map((processId, offset) => ({
    key: `${CLAIM_PREFIX}group-process-${processId}`,
    value: encodeClaim({ token: processId, processId, isFenced: false, releaseWithinMs: 0 }),
    offset: BigInt(offset),
    timestampMs: 0,
  }));
  index.applyBatch(0, records, BigInt(records.length));
  return index;
}

test.each([
  ['do not answer', async () => new Promise<boolean>(silence)],
  ['refuse', async () => Promise.reject<boolean>(new Error('GROUP_AUTHORIZATION_FAILED'))],
])(
  'owners are live members where brokers that are asked %s: they get their time, and no more, however many there are',
  async (_how, isMember) => {
    vi.useFakeTimers();
    let fencedMs: number | null = null;
    const fenced = new Set<string>();
    const fence = async (id: string): Promise<void> => {
      fenced.add(id);
      fencedMs ??= Date.now();
    };
    const committer = committerWith({ fence, fenced: () => fenced });
    const clock = { ...systemClock, monotonicMs: () => Date.now() };
    const lane = laneWith({ index: claimedIndex(['one', 'two', 'three']), clock, isMember, committer });
    const beganMs = Date.now();
    lane.assigned(true);
    // The time of an owner that gives way: a call and its margin, 3 s, then two commits, 10 s each.
    await vi.advanceTimersByTimeAsync(22_900);
    expect(fencedMs).toBeNull();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(fencedMs).toBeGreaterThan(beganMs);
    void lane.release();
  },
);

test('a taking that failed at the fence does not wait for the live member anew', async () => {
  let looks = 0;
  const looksAtFence: number[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const lane = laneWith({
    index: claimedIndex(),
    // Each look at the member takes a second.
    clock: { ...systemClock, monotonicMs: () => looks * 1_000 },
    isMember: async () => {
      looks += 1;
      return true;
    },
    committer: committerWith({
      fence: async () => {
        if (looksAtFence.push(looks) === 2) resolve(undefined);
        throw new Error('the coordinator does not answer');
      },
    }),
  });
  lane.assigned(true);
  await promise;
  await lane.release();
  const [first = 0, second = 0] = looksAtFence;
  expect(first).toBeGreaterThan(10);
  expect(second).toBe(first + 1);
});
