/** A start over a ledger of which some lanes are new: partitions may have been added, and only the other lanes tell. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { systemClock } from 'payment-processor-contract/clock';
import { LaneStart, type LaneStartParts } from '../../src/lanes/ownership/lane-start.ts';
import { StartSteps } from '../../src/lanes/ownership/start-steps.ts';
import { LedgerFormatError } from '../../src/ledger/ledger-value.ts';
import { otherLaneCount } from '../../src/store/ledger-copy.ts';

/** A ledger that is read after a few looks, and then shows how its keys were divided. */
function startOver(hasNewLanes: boolean, laneCount: number | null): { start: LaneStart; joined: () => boolean } {
  let looks = 0;
  let hasJoined = false;
  const isRead = (): boolean => looks > 2;
  const start: LaneStart = new LaneStart({
    settings: { LANES: 6, TOPIC_PREFIX: 'payments', KAFKA_BROKERS: ['kafka:9092'] } as LaneStartParts['settings'],
    steps: new StartSteps({ clock: systemClock, log: pino({ level: 'silent' }) }),
    ledger: {
      open: () => Promise.resolve(),
      isRead: () => {
        looks += 1;
        return isRead();
      },
      hasNewLanes: () => hasNewLanes,
      otherLaneCount: () => (isRead() ? laneCount : null),
    },
    watch: { start: () => undefined },
    committer: {
      loop: () => {
        throw new Error('taking a lane opens it');
      },
    },
    member: {
      start: () => {
        hasJoined = true;
        start.joined();
        return Promise.resolve();
      },
    },
    askInputs: () => [],
    isServedByOthers: () => Promise.resolve(false),
    isOver: () => false,
    clock: systemClock,
  });
  return { start, joined: () => hasJoined };
}

test('joins no group before the lanes that were used are read, though nobody else serves them', async () => {
  const { joined, start } = startOver(true, 3);
  await expect(start.run()).rejects.toThrow(/^LANES is 6, but the commands of payments were divided among 3 lanes/);
  expect(joined()).toBe(false);
});

test('goes on if the lanes that were used agree', async () => {
  const { joined, start } = startOver(true, null);
  await expect(start.run()).resolves.toBe(true);
  expect(joined()).toBe(true);
});

test('a lane with an owner of another format hides no other lane, and does not keep the process from them', () => {
  const owner = { processId: 'p', token: 't', atMs: 0, transactionalId: 'id', barren: 0, fencedCallUntilMs: 0 };
  const index = (laneCount: number): Parameters<typeof otherLaneCount>[0] => ({
    owner: (lane) => {
      if (lane === 0) throw new LedgerFormatError('of a release to come');
      return { ...owner, laneCount };
    },
  });
  expect(otherLaneCount(index(6), 6)).toBeNull();
  expect(otherLaneCount(index(3), 6)).toBe(3);
});
