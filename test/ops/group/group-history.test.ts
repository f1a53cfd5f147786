import { describe, expect, it } from 'vitest';
import { groupHistory } from '../../../src/ops/group/group-history.ts';
import type { MemberSample } from '../../../src/ops/group/member-report.ts';

const BEGIN_MS = Date.parse('2026-03-01T12:00:00Z');

/** A sample taken this many seconds after the start. */
function sample(seconds: number, change: Partial<MemberSample> = {}): MemberSample {
  return {
    ...{ at: new Date(BEGIN_MS + seconds * 1000).toISOString(), intervalSeconds: 5, lagMessages: 10, lagInputs: 4 },
    ...{ unfinished: 1, oldestUnansweredSeconds: 2, resultsAccepted: 5, resultsOther: 1, calls: 6, callFaults: 0 },
    command95Seconds: 0.2,
    ...change,
  };
}

describe('the history of a group', () => {
  it('adds up counts, takes the oldest age and the highest percentile', () => {
    const first = [
      sample(0.2),
      sample(5.2, { oldestUnansweredSeconds: 60, command95Seconds: null, lagMessages: null }),
    ];
    const second = [sample(0.9), sample(5.4, { command95Seconds: 3 })];
    const made = groupHistory([first, second], BEGIN_MS + 20_000);
    expect(made).toHaveLength(2);
    expect(made[0]).toMatchObject({
      ...{ at: '2026-03-01T12:00:00.000Z', members: 2, intervalSeconds: 5 },
      ...{ lagMessages: 20, lagInputs: 8, resultsAccepted: 10, calls: 12, unfinished: 2 },
    });
    expect(made[1]).toMatchObject({
      ...{ lagMessages: 10, oldestUnansweredSeconds: 60, command95Seconds: 3 },
    });
  });

  it('counts each sample once if one is late, and keeps the last figures of its member', () => {
    const late = [sample(0), sample(10.1), sample(14.9)];
    const made = groupHistory([late, [sample(0), sample(5), sample(10)]], BEGIN_MS + 60_000);
    expect(made.map(({ members }) => members)).toEqual([2, 1, 2]);
    expect(made.map(({ lagMessages }) => lagMessages)).toEqual([20, 20, 20]);
    expect(made.reduce((sum, { resultsAccepted }) => sum + resultsAccepted, 0)).toBe(6 * 5);
  });

  it('leaves the last slot out until all members have sampled', () => {
    const members = [[sample(0), sample(5)], [sample(0), sample(5)], [sample(0)]];
    expect(groupHistory(members, BEGIN_MS + 6_000)).toHaveLength(1);
    expect(groupHistory(members, BEGIN_MS + 16_000).map((made) => made.members)).toEqual([3, 2]);
    expect(groupHistory(members, BEGIN_MS + 3_600_000)).toEqual([]);
    expect(groupHistory([], BEGIN_MS)).toEqual([]);
  });
});
