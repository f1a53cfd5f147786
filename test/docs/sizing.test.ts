/** What docs/sizing.md is reckoned by. */
import { expect, test } from 'vitest';
import { discoveryLimit, followingLimit, sizeOf, type Demand } from '../../dev/generate/sizing.ts';

const DEMAND: Demand = { commandsPerSecond: 100, latencyMs: 300, retentionDays: 7, openSeconds: 60 };
const size = (changes: Partial<Demand>): ReturnType<typeof sizeOf> => sizeOf({ ...DEMAND, ...changes });

test('ten commands a second need two members with the defaults, and nothing breaks', () => {
  expect(size({ commandsPerSecond: 10 })).toMatchObject({ groups: 1, members: 2, lanes: 6, slots: 100, breaks: [] });
});

test('call slots are twice the calls under way, while one member is away', () => {
  const { callsUnderWay, members, slots } = size({ commandsPerSecond: 1_000, latencyMs: 2_000 });
  expect(callsUnderWay).toBe(2_000);
  expect(slots * (members - 1)).toBeGreaterThanOrEqual(4_000);
  expect(slots).toBeLessThanOrEqual(1_000);
});

test('there are at least three lanes for each member', () => {
  for (const commandsPerSecond of [10, 500, 1_500, 2_500, 10_000]) {
    const { lanes, members } = size({ commandsPerSecond });
    expect(lanes).toBeGreaterThanOrEqual(3 * members);
  }
});

test('members are busy to seven tenths at most while one is away', () => {
  for (const commandsPerSecond of [100, 1_000, 2_000, 3_000, 10_000])
    expect(size({ commandsPerSecond }).busyCoresOneAway).toBeLessThanOrEqual(0.7);
});

test('no number of members follows a ledger of ten thousand commands a second: several groups share them', () => {
  expect(followingLimit()).toBeLessThan(10_000);
  const { breaks, groups, members } = size({ commandsPerSecond: 10_000 });
  expect(groups).toBeGreaterThan(10_000 / followingLimit());
  expect(members).toBeGreaterThan(2);
  expect(breaks[0]).toBe('following');
});

test('a store is as large as its keys, and is rebuilt as fast as it was measured', () => {
  const { fittingDays, rebuildSeconds, storeBytes } = size({ commandsPerSecond: 10 });
  expect(storeBytes).toBe(10 * 7 * 86_400 * 1_400);
  expect(rebuildSeconds).toBeCloseTo((10 * 7 * 86_400) / 9_500);
  expect(size({ commandsPerSecond: 10, retentionDays: fittingDays }).storeBytes).toBeCloseTo(64 * 1024 ** 3);
  expect(size({ retentionDays: 7 }).breaks).toContain('store');
  expect(size({ retentionDays: 1 }).breaks).not.toContain('store');
});

test('a poller that cannot page through what is new falls behind, one that cannot revisit what is open is late', () => {
  const at = (commandsPerSecond: number): readonly string[] => size({ commandsPerSecond }).breaks;
  const limit = discoveryLimit(DEMAND.latencyMs);
  expect(at(limit + 1)).toContain('discovery');
  expect(at(limit - 1)).toContain('revisits');
  expect(at(10)).not.toContain('revisits');
  expect(size({ commandsPerSecond: 10, openSeconds: 90 }).breaks).toContain('poll-budget');
});
