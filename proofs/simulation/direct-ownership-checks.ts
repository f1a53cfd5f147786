/** Direct checks of how a lane is taken. What decides between two owners depends on timing that is rare in histories. */
import { Committer } from '../../src/lanes/committer.ts';
import { LaneWriter } from '../../src/lanes/lane-writer.ts';
import { acquireOwnership, Waits } from '../../src/lanes/ownership.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import {
  CLAIM_PREFIX,
  decodeClaim,
  encodeClaim,
  encodeOwner,
  OWNER_KEY,
  type Claimant,
  type OwnerRecord,
} from '../../src/ledger/ledger-records.ts';
import { schemaRecords } from '../../src/ledger/ledger-value.ts';
import type { RecordBatch } from '../../src/producers/record-batch.ts';
import { TransactionFailedError, type TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { settledWithin } from 'payment-processor-contract/kafka/settled-within';
import type { DirectCheck } from './direct-checks.ts';
import { MemoryIndex } from './memory-index.ts';
import { batchOf } from './request-answers.ts';

const NOW_MS = 1_000;
const SESSION_MS = 3_000;
/** Well after a lane has given up waiting. */
const LATE_MS = 5_000;
/** How often a taker looks at a lane that is not its own yet. */
const LOOKS = 5;
/** A taker that has not finished by then never will. */
const LOOKS_MAX = 100;
const SHORT_LOOK_MS = 100;
/** Longer than a taker waits for anything. */
const FROZEN_MS = 600_000;
const NOBODY = { producerId: 0n, epoch: 0, firstSequence: 0 };
const silence = (): void => undefined;

function ownerOf(token: string): OwnerRecord {
  return {
    token,
    processId: 'other',
    transactionalId: 'group-process-other',
    atMs: 0,
    barren: 0,
    fencedCallUntilMs: 0,
    laneCount: 1,
  };
}

/** The lane before it is taken: who owned it last, and who claims it. */
function indexWith(owner: OwnerRecord, claimants: readonly Claimant[] = [], isFenced = false): MemoryIndex {
  const index = new MemoryIndex(1);
  put(index, OWNER_KEY, encodeOwner(owner));
  for (const claimant of claimants)
    put(index, `${CLAIM_PREFIX}${claimant.transactionalId}`, encodeClaim({ ...claimant, isFenced }));
  return index;
}

function put(index: MemoryIndex, key: string, value: Buffer | null): void {
  index.applyBatch(0, [{ key, value, offset: 0n, timestampMs: 0 }], 1n);
}

function withdrawClaim(index: MemoryIndex, { transactionalId }: Claimant): void {
  put(index, `${CLAIM_PREFIX}${transactionalId}`, null);
}

interface Scene {
  /** Owner records that are read before ours, for each taking. */
  readonly between?: readonly (readonly OwnerRecord[])[];
  /** Whether the other claimants still belong to the group, at each look. */
  readonly isMember?: (looks: number) => boolean;
  readonly isWanted?: (looks: number) => boolean;
  readonly isConfirmed?: (looks: number) => boolean;
  readonly monotonicMs?: (looks: number) => number;
  /** The ledger's end, beyond what has been read. */
  readonly unreadEnd?: bigint;
  /** Called while our record is being written, with a function that fences an id. */
  readonly onOwned?: (fence: (id: string) => void) => void;
}

/**
 * Takes a lane; each look at its other claimants takes a second.
 * @returns what happened, in order: fenced ids, our record, its withdrawal. Also the claims that it withdrew, until when a
 *   fenced owner may call, and the schemas that were written before our record
 */
async function taken(
  index: MemoryIndex,
  { between = [], isConfirmed, isMember, isWanted, monotonicMs, onOwned = silence, unreadEnd = 0n }: Scene = {},
): Promise<{
  happened: string[];
  withdrawals: string[];
  fencedCallUntilMs: number;
  schemas: ReadonlyMap<string, Buffer>;
}> {
  const happened: string[] = [];
  let fencedCallUntilMs = 0;
  let written: ReadonlyMap<string, Buffer> = new Map();
  const withdrawals: string[] = [];
  const fenced = new Set<string>();
  let takings = 0;
  let looks = 0;
  const parts = {
    lane: 0,
    groupId: 'group',
    processId: 'own',
    policy: { apiTimeoutMs: 0 },
    sessionTimeoutMs: SESSION_MS,
    topics: { ledger: 'ledger' },
    offsets: { highWatermarks: async () => new Map([[0, unreadEnd]]) },
    index,
    reader: { seen: async () => between[takings] ?? [], position: () => 0n },
    clock: {
      nowMs: () => NOW_MS,
      monotonicMs: () => {
        if (looks > LOOKS_MAX) throw new Error('it waits without end');
        return monotonicMs?.(looks) ?? looks * NOW_MS;
      },
    },
    log: { warn: silence, error: silence },
    isConfirmed: () => isConfirmed?.(looks) ?? true,
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
  };
  const writer = {
    transactionalId: 'group-process-own',
    claim: async (owner: OwnerRecord, schemas: ReadonlyMap<string, Buffer>, withdrawn: readonly string[]) => {
      ({ fencedCallUntilMs } = owner);
      written = schemas;
      takings += 1;
      happened.push('claimed');
      withdrawals.push(...withdrawn);
      onOwned((id) => fenced.add(id));
    },
    withdraw: async () => void happened.push('withdrawn'),
  };
  const isStillWanted = (): boolean => isWanted?.(looks) ?? true;
  await acquireOwnership(parts as unknown as LaneParts, writer as unknown as LaneWriter, isStillWanted, new Waits());
  return { happened, withdrawals, fencedCallUntilMs, schemas: written };
}

/** What a taker writes to the lane when it is called off. @param isUnderWay its claim is already being committed */
async function writtenWhenCalledOff(isUnderWay: boolean): Promise<string[]> {
  const written: string[] = [];
  const processLoop = {
    transactionalId: 'group-process-own',
    isBroken: () => false,
    cancel: () => !isUnderWay,
    commit: async ({ records }: { records: readonly { key: string }[] }) => {
      written.push(...records.map(({ key }) => key));
      return new Promise(silence);
    },
  };
  const committer = { loop: () => processLoop } as unknown as Committer;
  const writer = new LaneWriter(committer, { topic: 'ledger', partition: 0 });
  void writer
    .claim({ token: 'own', processId: 'own', atMs: 0, barren: 0, fencedCallUntilMs: 0, laneCount: 1 }, new Map(), [])
    .catch(silence);
  written.length = 0;
  void writer.end();
  return written;
}

/** What happens after a live owner's producer breaks: the claim that it writes, and when it fences the producer. */
async function happenedOnBreak(): Promise<string[]> {
  const happened: string[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let made = 0;
  const makeProducer = (): TransactionalProducer => {
    made += 1;
    const isFirst = made === 1;
    const producer = {
      open: silence,
      drop: silence,
      commit: async (_known: unknown, wanted: () => Promise<readonly RecordBatch[]>) => {
        const records = (await wanted()).flatMap((batch) => batchOf(batch.sealed(NOBODY, false)).records);
        if (isFirst && happened.push('claimed') > 1) throw new TransactionFailedError('it broke');
        if (isFirst) return new Map();
        for (const { key, value } of records)
          happened.push(value !== null && decodeClaim(String(key), value).isFenced ? 'said' : 'written');
        resolve(undefined);
        return new Map();
      },
      fence: async () => {
        await new Promise((answer) => setTimeout(answer, 1));
        happened.push('fenced');
      },
    };
    return producer as unknown as TransactionalProducer;
  };
  const clock = { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS };
  const committer = new Committer({ groupId: 'group', clock, makeProducer });
  const writer = new LaneWriter(committer, { topic: 'ledger', partition: 0 });
  await writer.claim(
    { token: 'own', processId: 'own', atMs: 0, barren: 0, fencedCallUntilMs: 0, laneCount: 1 },
    new Map(),
    [],
  );
  await writer.end();
  await settledWithin(promise, NOW_MS);
  return happened;
}

/** Takes a lane whose ledger lacks our record, although it was read to its end. */
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
  const writer = { transactionalId: 'group-process-own', claim: silence };
  return acquireOwnership(parts as unknown as LaneParts, writer as unknown as LaneWriter, () => true, new Waits());
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
    wrong: 'an owner writes by schemas that its ledger does not have',
    holds: async () => {
      const index = indexWith(ownerOf('last'), []);
      const { schemas } = await taken(index);
      for (const [key, value] of schemas) put(index, key, value);
      const again = await taken(index);
      return [...schemaRecords().keys()].every((key) => schemas.has(key)) && again.schemas.size === 0;
    },
  },
  {
    wrong: 'who claimed a lane before its last owner, and was fenced by nobody, may go on writing',
    holds: async () => {
      const frozen = { token: 'earlier', processId: 'frozen', transactionalId: 'group-process-frozen' };
      const { happened, withdrawals } = await taken(indexWith(ownerOf('last'), [frozen]));
      return [...happened, ...withdrawals].join() === 'group-process-frozen,claimed,group-process-frozen';
    },
  },
  {
    wrong: 'an owner that was fenced only after our record was written may have committed since, and is not noticed',
    holds: async () => {
      const other = ownerOf('between');
      const onOwned = (fence: (id: string) => void): void => fence(other.transactionalId);
      const { happened } = await taken(indexWith(ownerOf('last')), { between: [[other]], onOwned });
      return happened.filter((what) => what === 'claimed').length > 1;
    },
  },
  {
    wrong: 'a taker that was called off fences the owner, or claims the lane',
    holds: async () => {
      const index = indexWith(ownerOf('last'), [ownerOf('last')]);
      const scene = { isMember: () => true, isWanted: (looks: number) => looks < LOOKS };
      return (await taken(index, scene)).happened.length === 0;
    },
  },
  {
    wrong: 'a taker that was called off while it asked for the owner fences it',
    holds: async () => {
      const index = indexWith(ownerOf('last'), [ownerOf('last')]);
      return (await taken(index, { isWanted: (looks) => looks < 1 })).happened.length === 0;
    },
  },
  {
    wrong: 'a live member that turns up between is fenced without courtesy, or two takers wait for each other',
    holds: async () => {
      const other = ownerOf('between');
      const index = indexWith(ownerOf('last'));
      const { happened } = await taken(index, {
        between: [[other]],
        onOwned: () =>
          put(index, `${CLAIM_PREFIX}${other.transactionalId}`, encodeClaim({ ...other, isFenced: false })),
        isMember: (looks) => {
          if (looks >= LOOKS) withdrawClaim(index, other);
          return true;
        },
      });
      return happened.slice(0, 3).join() === 'claimed,withdrawn,claimed';
    },
  },
  {
    wrong: 'a process that its group has not confirmed fences others',
    holds: async () => {
      const index = indexWith(ownerOf('last'), [ownerOf('last')]);
      const { happened } = await taken(index, {
        isConfirmed: () => false,
        isWanted: (looks) => looks < LOOKS,
      });
      return happened.length === 0;
    },
  },
  {
    wrong: 'a process that was frozen while it waited for an owner has no patience left',
    holds: async () => {
      const index = indexWith(ownerOf('last'), [ownerOf('last')]);
      const { happened } = await taken(index, {
        isMember: (looks) => {
          if (looks >= LOOKS) withdrawClaim(index, ownerOf('last'));
          return true;
        },
        monotonicMs: (looks) => (looks > 1 ? FROZEN_MS : 0) + looks * NOW_MS,
      });
      return happened.join() === 'claimed';
    },
  },
  {
    wrong: 'a member that left in order is fenced before its release is read',
    holds: async () => {
      const releasedAt = async (look: number, unreadEnd: bigint): Promise<string> => {
        const index = indexWith(ownerOf('last'), [ownerOf('last')]);
        const isMember = (looks: number): boolean => {
          if (looks >= look) withdrawClaim(index, ownerOf('last'));
          return false;
        };
        const monotonicMs = (looks: number): number => looks * SHORT_LOOK_MS;
        return (await taken(index, { unreadEnd, isMember, monotonicMs })).happened.join();
      };
      return [await releasedAt(LOOKS, 1n), await releasedAt(1, 0n)].join(' ') === 'claimed claimed';
    },
  },
  {
    wrong: 'a member that was killed is not fenced as long as its transaction holds readers up',
    holds: async () => {
      const index = indexWith(ownerOf('last'), [ownerOf('last')]);
      return (await taken(index, { unreadEnd: 1n })).happened.join() === 'group-process-other,claimed';
    },
  },
  {
    wrong: 'a live owner whose producer broke leaves its claim, or says that it is fenced before it is',
    holds: async () => (await happenedOnBreak()).join() === 'claimed,claimed,fenced,said',
  },
  {
    wrong: 'an owner that fenced itself is waited for, or its claim stays',
    holds: async () => {
      const index = indexWith(ownerOf('last'), [ownerOf('last')], true);
      const { happened, withdrawals } = await taken(index, { isMember: () => true });
      return [...happened, ...withdrawals].join() === 'claimed,group-process-other';
    },
  },
  {
    wrong:
      'an owner does not say until when one that was fenced may call, forgets what its predecessor said, or says it for nothing',
    holds: async () => {
      const last = ownerOf('last');
      const until = async (index: MemoryIndex): Promise<number> => (await taken(index)).fencedCallUntilMs;
      const [fenced, aware, later, released] = await Promise.all([
        until(indexWith(last, [last])),
        until(indexWith(last, [last], true)),
        until(indexWith({ ...last, fencedCallUntilMs: 1 })),
        until(indexWith(last)),
      ]);
      return [fenced, aware, later, released].join() === [NOW_MS + SESSION_MS, 0, 1, 0].join();
    },
  },
  {
    wrong: 'a taker that was called off before it claimed the lane says that it released it',
    holds: async () => (await writtenWhenCalledOff(false)).length === 0,
  },
  {
    wrong: 'a taker that was called off while it claimed the lane does not withdraw its claim',
    holds: async () => (await writtenWhenCalledOff(true)).join() === `${CLAIM_PREFIX}group-process-own`,
  },
];
