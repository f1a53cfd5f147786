/** Of ownership: who may take a lane, whom it waits for, and whom it fences. */
import type { Mutation } from '../mutations.ts';

export const OWNERSHIP_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a new owner fences nobody',
    find: 'this.#options.makeProducer(transactionalId).fence()',
    replace: 'Promise.resolve()',
  },
  {
    name: 'owners that turn up before a lane is ours are not fenced',
    find: 'if (others.length === 0) return token;',
    replace: 'return token;',
  },
  {
    name: 'an owner that was fenced after our record counts as fenced before it',
    find: 'newClaims: await seenUnlessSuperseded(parts, seen), fenced }',
    replace: 'newClaims: await seenUnlessSuperseded(parts, seen), fenced: committer.fenced() }',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'an owner waits for its record, though others came later and compaction took it away',
    find: "throw new Error('another process took the lane in the meantime');",
    replace: 'return seen;',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'the last owner alone is fenced, not all who have claimed the lane',
    find: '.filter(({ isFenced, transactionalId: id }) => !isFenced',
    replace: '.filter(({ isFenced, token, transactionalId: id }) => token === index.owner(lane)?.token && !isFenced',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a new owner does not read the ledger to its end',
    find: 'newClaims: await seenUnlessSuperseded(parts, seen), fenced }',
    replace: 'newClaims: [], fenced }',
  },
  {
    name: 'a taker that was called off goes on',
    find: 'while (isWanted() && otherClaimants(parts, writer).length > 0) await fenceOrWait(parts, writer, waits, isWanted);',
    replace: 'while (otherClaimants(parts, writer).length > 0) await fenceOrWait(parts, writer, waits, () => true);',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a taker that was called off claims the lane all the same',
    find: 'if (!isWanted()) return null;',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a taker that was called off while it asked fences the owner',
    find: 'if (!isWanted() || !isConfirmed()) break;',
    replace: 'if (!isConfirmed()) break;',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a process that its group has not confirmed fences others',
    find: 'if (!isWanted() || !isConfirmed()) break;',
    replace: 'if (!isWanted()) break;',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a live member gets no time to release its lane',
    find: 'if (isWaitedFor ||',
    replace: 'if (',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a member that left in order is fenced before its release is read',
    find: ' || (await mayHaveReleased(parts, claimant, waits))',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'an owner whose release is read while it is asked for is fenced',
    find: ' || !otherClaimants(parts, writer).some(({ token }) => token === claimant.token)',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'the time of a frozen process counts as waited for a release',
    find: 'Math.min(clock.monotonicMs() - waits.checkedMs, CHECK_GAP_MS_MAX)',
    replace: 'clock.monotonicMs() - waits.checkedMs',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'takers keep their claims while they wait for each other',
    find: 'await writer.withdraw();',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a taker that was called off releases what it never claimed',
    find: 'if (isCancelled) this.#claim = null;',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a taker that was called off leaves its claim behind',
    find: 'if (isCancelled) this.#claim = null;',
    replace: 'if (this.#claiming !== null) this.#claim = null;',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a release waits until all other lanes have committed',
    find: 'isRelease ? [seat, ...this.#seats] : [...this.#seats, seat]',
    replace: '[...this.#seats, seat]',
    toldBy: 'test/lanes/loop',
  },
  {
    name: 'an owner says that its broken producer is fenced before it is',
    find: 'await this.fence(transactionalId);',
    toldBy: 'test/lanes/committer',
  },
  {
    name: 'a live owner whose producer broke leaves its claim behind',
    find: 'await this.withdraw().catch(() => this.#disown());',
    replace: 'await this.withdraw().catch(() => undefined);',
    toldBy: 'proofs/simulation/broken-producer',
  },
  {
    name: 'an owner that fenced itself is waited for',
    find: '!isFenced && id !==',
    replace: 'id !==',
    toldBy: 'test/lanes/ownership',
  },
];
