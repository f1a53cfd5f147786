import { describe, expect, it } from 'vitest';
import { groupState, type GroupState } from '../../../src/ops/group/group-state.ts';
import type { KnownMember } from '../../../src/ops/group/known-member.ts';
import { memberReport, readMemberReport, type MemberFigures } from '../../../src/ops/group/member-report.ts';
import { StateReader } from '../../../src/ops/state-reader.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import type { ProcessorState } from '../../../src/ops/processor-state.ts';
import { entry, FakeProcessor, inputStatus, laneOwner, laneStatus, ledgerLane } from '../fake-processor.ts';
import { known, stateOf } from './known.ts';

const OWN = 'aaaaaaaa-1';
const OTHER = 'bbbbbbbb-2';

/** A processor with ten commands in Kafka per lane, of which it has admitted these. */
function processor(lanes: readonly number[], admitted = 7n): FakeProcessor {
  const made = new FakeProcessor();
  made.ends = async () => new Map(Array.from({ length: 6 }, (_, lane) => [lane, { low: 0n, high: 10n }]));
  made.lanes.assigned = lanes;
  made.lanes.keysRemembered = 1_000;
  made.lanes.callsRunning = 3;
  const inputs = [inputStatus({ position: admitted, cause: 'no-slot', oldestTimestampMs: made.nowMs - 9_000 })];
  made.lanes.lanes = new Map(lanes.map((lane) => [lane, laneStatus({ inputs })]));
  return made;
}

function group(own: ProcessorState, others: readonly KnownMember[] = [], nowMs = Date.parse(own.at)): GroupState {
  return groupState({ nowMs, own, members: [known(own, { isThis: true }), ...others], samples: [], timeline: [] });
}

/** Another member's report as it arrives, with some parts changed. */
function read(
  state: ProcessorState,
  change: (report: { state: Record<string, unknown> }) => void,
): MemberFigures | null {
  const own = { state, samples: [], events: [] };
  const sent = JSON.parse(JSON.stringify(memberReport(own, null))) as { state: Record<string, unknown> };
  change(sent);
  return readMemberReport(JSON.stringify(sent))?.state ?? null;
}

describe('the state of a group', () => {
  it('sums what each process does, and takes what all of them know from one', async () => {
    const [first, second] = [processor([0, 1]), processor([2, 3, 4], 9n)];
    for (const made of [first, second]) {
      const unknown = [{ command: 'transfer-in', count: 2, oldestMs: 0 }] as const;
      made.ledger.lanes = [ledgerLane(0, { nextOffset: 10n, unknown })];
      made.activity.reports.failed(0, 'here', new Error('a bug'));
    }
    const own = await stateOf(first, OWN);
    const state = group(own, [known(await stateOf(second, OTHER))]);
    const lag = state.lanes
      .flatMap(({ inputs }) => inputs)
      .reduce((sum, { lagMessages }) => sum + (lagMessages ?? 0), 0);
    expect(lag).toBe(2 * 3 + 3 * 1);
    expect(state.lanes.map(({ lane, process }) => `${lane} ${process}`)).toEqual([
      ...['0 aaaaaaaa', '1 aaaaaaaa', '2 bbbbbbbb', '3 bbbbbbbb', '4 bbbbbbbb'],
    ]);
    expect(state.unreportedLanes).toMatchObject([{ lane: 5, process: null }]);
    expect(state).toMatchObject({ callsUnderWay: 6, callSlots: 200, activity: { ownFailures: 2 } });
    expect(state.oldestUnansweredSeconds['transfer-in']).toBe(9);
    // Every member's copy of the ledger says the same.
    expect(state).toMatchObject({ keysRemembered: 1_000, unknownResults: { waiting: 2 } });
  });

  it('takes UNKNOWN results from the member whose copy of the ledger is least behind', async () => {
    const [restoring, complete] = [processor([0]), processor([1])];
    const unknown = [{ command: 'transfer-in', count: 5, oldestMs: 0 }] as const;
    restoring.ledger.lanes = [ledgerLane(0)];
    complete.ledger.lanes = [ledgerLane(0, { nextOffset: 10n, unknown })];
    const [behind, upToDate] = [await stateOf(restoring, OWN), await stateOf(complete, OTHER)];
    expect(group(behind, [known(upToDate)]).unknownResults.waiting).toBe(5);
    expect(group(upToDate, [known(behind)]).unknownResults.waiting).toBe(5);
  });

  it.each(['restores', 'is cut off'])(
    'takes holds from the member that serves while the one that answers %s',
    async (how) => {
      const [stale, serving] = [processor([]), processor([0])];
      const at = new Date(stale.nowMs - 60_000).toISOString();
      const holds = { 'transfer-in': { operator: 'dana', reason: 'pays twice', at, until: null, offset: '1' } };
      stale.ledger.lanes = [ledgerLane(0, { holds, nextOffset: 9n })];
      serving.ledger.lanes = [ledgerLane(0, { nextOffset: 10n })];
      stale.ledger.restore = { isUnderWay: how === 'restores', seconds: 60 };
      const [restoring, released] = [await stateOf(stale, OWN), await stateOf(serving, OTHER)];
      const cutOff = { ...restoring, ledger: { ...restoring.ledger, behindRecords: 0 }, lagEndsAgeSeconds: 3_600 };
      const own = how === 'restores' ? restoring : cutOff;
      const reported = read(released, () => undefined);
      expect(group(own, [known(reported!)])).toMatchObject({ holds: [], isLedgerRead: true });
      expect(group(released, [known(own)])).toMatchObject({ holds: [], isLedgerRead: true });
      expect(group(own)).toMatchObject({ holds: [{ operator: 'dana' }], isLedgerRead: false });
    },
  );

  it('counts a lane that two members report once: for its owner according to the ledger', async () => {
    const [before, after] = [processor([0, 1]), processor([1, 2], 8n)];
    before.ledger.lanes = [ledgerLane(1, { owner: laneOwner(OTHER, 1_000), nextOffset: 10n })];
    const state = group(await stateOf(before, OWN), [known(await stateOf(after, OTHER))]);
    expect(state.lanes.map(({ lane, process }) => `${lane} ${process}`)).toEqual([
      ...['0 aaaaaaaa', '1 bbbbbbbb', '2 bbbbbbbb'],
    ]);
    expect(state.lanes[1]?.inputs[0]?.lagMessages).toBe(2);
  });

  it('takes the worst state of the service that members report, and who reports it', async () => {
    const [well, ill] = [processor([0]), processor([1])];
    ill.api.state = { kind: 'held', reason: 'HTTP 401', setting: 'API_TOKEN_ID', sinceMs: 0 };
    ill.api.operations['transfer-in'] = { breaker: 'open', lastFault: null, callsUnderWay: 0, allowance: 0 };
    ill.nowMs += 120_000;
    const state = group(await stateOf(well, OWN), [known(await stateOf(ill, OTHER))]);
    expect(state.ready).toBe(false);
    expect(state.service).toMatchObject({ state: 'held', reason: 'HTTP 401' });
    expect(state.operations.find(({ operation }) => operation === 'transfer-in')).toMatchObject({
      ...{ breaker: 'open', blockedAt: ['bbbbbbbb'], allowance: null },
    });
    expect(state.reasons.find(({ reason }) => reason.startsWith('payment service held'))).toMatchObject({
      ...{ processes: ['bbbbbbbb'], isBlocking: true },
    });
  });

  it('leaves a gone or silent member out of the sums, and keeps its last report', async () => {
    const own = await stateOf(processor([0]), OWN);
    const other = processor([1, 2]);
    other.setLane(
      1,
      laneStatus({ entries: [entry('transfer-in', other.nowMs - 5_000, { state: 'INTENT' } as never)] }),
    );
    const told = await stateOf(other, OTHER);
    const nowMs = Date.parse(told.at) + 60_000;
    const gone = known(told, { standing: 'gone', goneSinceMs: nowMs - 1_000, assigned: [1, 2] });
    const silent = known(told, { fault: { kind: 'timed-out', sinceMs: nowMs - 50_000, isNoted: true } });
    for (const member of [gone, silent]) {
      const state = group(own, [member], nowMs);
      expect(state).toMatchObject({ callsUnderWay: 3, callSlots: 100, unfinished: [] });
      expect(state.lanes.map(({ lane }) => lane)).toEqual([0]);
      expect(state.unreportedLanes.map(({ process }) => process)).toEqual(['bbbbbbbb', 'bbbbbbbb', null, null, null]);
      expect(state.members[1]).toMatchObject({
        ...{ process: 'bbbbbbbb', isCounted: false, answeredAt: told.at },
        figures: { lanes: [1, 2], waiting: 3, unfinished: 1, callsUnderWay: 3 },
      });
    }
    expect(group(own, [gone], nowMs).members[1]?.goneSince).toBe(new Date(nowMs - 1_000).toISOString());
    expect(group(own, [silent], nowMs).members[1]).toMatchObject({ fault: 'timed-out', standing: 'member' });
    // A slightly late answer must not make the sums jump.
    expect(group(own, [silent], Date.parse(told.at) + 5_000).callsUnderWay).toBe(6);
  });

  it("knows from the group's offsets what waits in lanes that no member reports", async () => {
    const made = processor([0, 1]);
    made.committed = async () => new Map([0, 1, 2, 3, 4].map((lane) => [lane, lane === 4 ? 11n : 4n]));
    made.lanes.processId = OWN;
    const { unreportedLanes } = group(await new StateReader(made.sources()).read());
    const waiting = unreportedLanes.map(
      (each) => each.waiting?.find(({ command }) => command === 'transfer-in')?.messages,
    );
    // Without a committed offset, or with one of a deleted topic of the same name, everything waits.
    expect([unreportedLanes.map(({ lane }) => lane), waiting]).toEqual([
      [2, 3, 4, 5],
      [6, 6, 10, 10],
    ]);
    expect(unreportedLanes[0]?.waiting).toHaveLength(COMMAND_TYPES.length);
    made.committed = async () => Promise.reject(new Error('no answer'));
    expect(group(await new StateReader(made.sources()).read()).unreportedLanes[0]?.waiting).toBeNull();
  });

  it('is the state of the process alone if it knows no other member, or is in no group', async () => {
    const own = await stateOf(processor([0, 1]), OWN);
    expect(group(own)).toMatchObject({ callsUnderWay: 3, ready: true, members: [{ isThis: true, isCounted: true }] });
    const out = groupState({
      ...{ nowMs: Date.parse(own.at) + 3_600_000, own, samples: [], timeline: [] },
      members: [known(own, { isThis: true, standing: 'gone' })],
    });
    expect(out).toMatchObject({ callsUnderWay: 3, members: [{ isCounted: true, standing: 'gone' }] });
  });
});

describe('a member that runs another release', () => {
  it('and reports less counts for the fields it reports, and the state names the missing ones', async () => {
    const state = await stateOf(processor([1, 2]), OTHER);
    const told = read(state, (report) => {
      delete report.state['callSlots'];
      delete report.state['activity'];
      report.state['unfinished'] = 'many';
    });
    const made = group(await stateOf(processor([0]), OWN), [known(told!, { release: '0.0.9' })]);
    expect(made.lanes).toHaveLength(3);
    expect(made).toMatchObject({ callSlots: 100, callsUnderWay: 6 });
    expect(made.members[1]).toMatchObject({
      ...{ isCounted: true, isOtherRelease: true, release: '0.0.9' },
      unreportedParts: ['unfinished', 'calls', 'results'],
    });
  });

  it('and sends longer texts than can be shown has them cut', async () => {
    const told = read(await stateOf(processor([1]), OTHER), ({ state }) => (state['reasons'] = ['x'.repeat(9_000)]));
    expect(told?.reasons).toEqual(['x'.repeat(1_000)]);
  });

  it('and reports more, or unknown names, is understood', async () => {
    const state = await stateOf(processor([1]), OTHER);
    const told = read(state, (report) => {
      report.state['more'] = { than: 'before' };
      const [lane] = report.state['lanes'] as { stage: string; inputs: { cause: string }[] }[];
      lane!.stage = 'thinking';
      lane!.inputs[0]!.cause = 'full-moon';
    });
    const made = group(await stateOf(processor([0]), OWN), [known(told!)]);
    expect(made.lanes[1]).toMatchObject({ stage: 'thinking', inputs: [{ cause: 'full-moon', lagMessages: 3 }] });
    expect(made.members[1]).toMatchObject({ isOtherRelease: false, unreportedParts: [] });
  });

  it.each<[string, (report: { state: Record<string, unknown> }) => void]>([
    ['no lanes', ({ state }) => delete state['lanes']],
    ['no id', ({ state }) => delete state['processId']],
    ['a negative lag', ({ state }) => ((state['lanes'] as { unfinished: number }[])[0]!.unfinished = -1)],
    [
      'too many lanes',
      ({ state }) => (state['lanes'] = new Array<unknown>(1_001).fill((state['lanes'] as unknown[])[0])),
    ],
    ['another format', (report) => Object.assign(report, { format: 2 })],
  ])('is not understood with %s', async (_what, change) => {
    expect(read(await stateOf(processor([1]), OTHER), change)).toBeNull();
  });
});
