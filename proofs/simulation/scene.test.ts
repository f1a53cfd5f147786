/** Small scenes keep every promise of the processor. */
import { expect, test } from 'vitest';
import { textOf } from './scene-report.ts';
import { SCENES, type SceneOptions } from './scene-options.ts';
import { runScene } from './scene.ts';

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

test.each(SCENES)(
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
