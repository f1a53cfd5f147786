/** A lane that is taken while others own it meanwhile: what the group did after the taking says nothing of a lost ledger. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { Lane } from '../../src/lanes/lane.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import type { TopicStart } from '../../src/consumers/topic-offsets.ts';
import { topicNames } from '../../src/records/topics.ts';
import { MemoryIndex } from './memory-index.ts';

const silence = (): void => undefined;
const BOUNDS = { lowOffset: 0n, highOffset: 5n, topicId: null };

/** The stage that a lane without a position in its ledger comes to. */
async function stageAfterTaking(committedOffset: (isTaken: boolean) => bigint | null): Promise<string> {
  let isTaken = false;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const parts = {
    lane: 0,
    laneCount: 1,
    processId: 'process',
    topics: topicNames('test'),
    commandTypes: ['transfer-in'],
    groupId: 'group',
    policy: { apiTimeoutMs: 1_000 },
    retention: { doneMs: 1e9, transactionMs: 1e9 },
    index: new MemoryIndex(1),
    reader: { seen: async () => [], fetchAgain: silence, ownCommitted: silence },
    calls: { onSpace: silence, release: silence },
    clock: systemClock,
    log: { info: silence, warn: silence, error: silence },
    reports: { laneLost: silence },
    repeats: { unsaid: () => null },
    committer: {
      writer: () => ({
        transactionalId: 'group-process-1',
        commit: async (commit: unknown) => {
          isTaken = true;
          return { commit, written: new Map() };
        },
        cancel: silence,
        isBroken: () => false,
        assertWhole: silence,
        onBroken: () => silence,
      }),
      fence: async () => undefined,
      fenced: () => new Set(),
    },
    isMember: async () => false,
    member: { seek: silence, resume: silence, isConfirmedSinceMs: () => true },
    offsets: {
      startOf: async (): Promise<TopicStart> => ({ ...BOUNDS, committedOffset: committedOffset(isTaken) }),
    },
    ledgerTopicId: () => null,
    isConfirmed: () => true,
    onMoved: silence,
    onStageChange: () => {
      if (lane.stage() !== 'acquiring') resolve(undefined);
    },
  };
  const lane = new Lane(parts as unknown as LaneParts);
  lane.assigned(true);
  await promise;
  const stage = lane.stage();
  await lane.release();
  return stage;
}

test('progress of the group that came after the taking does not stop the lane: it is the next owner’s', async () => {
  const stage = await stageAfterTaking((isTaken) => (isTaken ? 5n : null));
  expect(stage).toBe('open');
});

test('progress of the group that was there before, without a position in the ledger, stops the lane', async () => {
  expect(await stageAfterTaking(() => 5n)).toBe('stopped');
});
