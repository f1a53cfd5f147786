/** Small scenes keep every promise of the processor, the same seed repeats a scene, and the figures are right. */
import { expect, test } from 'vitest';
import { Draws } from './draws.ts';
import { answerTimes, mostPerSecond, nextResults } from './scene-figures.ts';
import type { TimedCommand } from './scene-load.ts';
import { textOf } from './scene-report.ts';
import { SCENES, type SceneOptions } from './scene-options.ts';
import { runScene } from './scene.ts';
import { VirtualTime } from './virtual-time.ts';
import { ZonedBroker, ZONES } from './zoned-broker.ts';

const SMALL: Omit<SceneOptions, 'scene'> = {
  seed: 1,
  lanes: 6,
  members: 3,
  commandsPerSecond: 2,
  outageMinutes: 2,
  changes: 20,
};
/** For a machine that is busy with other work. */
const TEST_MS_MAX = 240_000;

// The scene of refused members runs as a direct check, in simulation.test.ts.
test.each(SCENES.filter((scene) => scene !== 'refused-member'))(
  'every promise is held through: %s',
  async (scene) => {
    const report = await runScene({ ...SMALL, scene });
    expect(report.wrong).toEqual([]);
    expect(report.outcomes).toEqual({ ACCEPTED: report.commands });
    expect(report.nextResultMs.count).toBeGreaterThan(0);
    expect(report.takeOvers > 0).toBe(scene !== 'service-outage');
    expect(textOf(report)).toContain('All promises held.');
  },
  TEST_MS_MAX,
);

test(
  'quotes that waited longer than their age are EXPIRED, and nothing else is',
  async () => {
    const report = await runScene({
      ...SMALL,
      scene: 'service-outage',
      lanes: 2,
      members: 1,
      commandsPerSecond: 0.2,
      outageMinutes: 17,
    });
    expect(report.wrong).toEqual([]);
    expect(Object.keys(report.outcomes).sort()).toEqual(['ACCEPTED', 'EXPIRED']);
    expect(report.waitingMost).toBeGreaterThan(180);
  },
  TEST_MS_MAX,
);

test('a lost zone takes and shows nothing of its partitions until others lead them', async () => {
  const time = new VirtualTime();
  const broker = new ZonedBroker(time, new Draws(1, 'test'));
  broker.createTopic('t', ZONES);
  // The coordinator of this id is in another zone.
  const { epoch } = broker.initialise('b');
  broker.add(
    'b',
    epoch,
    [0, 1].map((partition) => ({ topic: 't', partition })),
  );
  const records = [{ key: null, value: null, headers: [], timestampMs: 0 }];
  broker.loseZone(1, 1_000);
  const produce = (partition: number): unknown =>
    broker.produce('b', { topic: 't', partition }, { epoch, firstSequence: 0, records });
  expect(() => produce(1)).toThrow(/not the leader/);
  expect(produce(0)).toMatchObject({ firstOffset: 0 });
  expect([0, 1].map((partition) => broker.shownEnd('t', partition))).toEqual([Infinity, 0]);
  // Exactly one of these three ids has its coordinator in the lost zone.
  const states = ['a', 'c', 'e'].map((id) => {
    try {
      return typeof broker.initialise(id).epoch;
    } catch (error) {
      return (error as { type?: string }).type;
    }
  });
  expect(states.filter((state) => state === 'NOT_COORDINATOR_FOR_GROUP')).toHaveLength(1);
  await time.runUntil(() => false, time.nowMs + 1_000);
  expect(produce(1)).toMatchObject({ firstOffset: 0 });
});

function command(lane: number, publishedMs: number, answeredMs: number | null): TimedCommand {
  return { lane, publishedMs, answeredMs };
}

test('the next result of a lane counts from the moment, or from what was published after it', () => {
  const commands = [
    command(0, 0, 50),
    command(0, 60, 300),
    command(0, 400, 450),
    command(1, 900, 950),
    command(2, 0, null),
  ];
  expect(nextResults([{ atMs: 100, lanes: [0, 1, 2] }], commands)).toMatchObject({ count: 2, p50: 200, max: 200 });
  expect(nextResults([{ atMs: 100, lanes: [1] }], commands)).toMatchObject({ count: 1, max: 50 });
});

test('answers are timed from publishing, of what was published in the time', () => {
  const commands = [command(0, 0, 50), command(0, 60, 300), command(0, 400, null), command(0, 500, 600)];
  expect(answerTimes(commands, 50, 500)).toMatchObject({ count: 1, max: 240 });
});

test('the busiest second is found', () => {
  expect(mostPerSecond([10, 999, 1_000, 1_100, 1_200])).toBe(3);
  expect(mostPerSecond([])).toBe(0);
});
