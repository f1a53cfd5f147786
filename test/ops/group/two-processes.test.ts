/** Two processors on a real broker: the page's data of either shows both, and one that is killed is told as gone. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { processName } from '../../../src/consumers/group-processes.ts';
import type { GroupSample } from '../../../src/ops/group/group-history.ts';
import type { GroupState } from '../../../src/ops/group/group-state.ts';
import { transferInOf } from '../../support/commands.ts';
import type { RunningProcessor } from '../../support/processor.ts';
import { LANES } from '../../support/stack.ts';
import { useStack } from '../../support/test-stack.ts';
import { eventually } from '../../support/watch.ts';

const TOKEN = 'the-token-of-both';
const COMMANDS = 12;
const stack = useStack({ name: 'group-page', settings: { HTTP_AUTH_TOKEN: TOKEN } });

afterEach(async () => {
  await stack().endProcessors();
});

async function ask<Answer>({ httpUrl }: RunningProcessor, path: string, token = TOKEN): Promise<Answer> {
  const answer = await fetch(`${httpUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return (await answer.json()) as Answer;
}

const nameOf = ({ processId }: GroupState): string => processName(processId);
const openLanes = ({ lanes }: GroupState): number => lanes.filter(({ stage }) => stage === 'open').length;

test('either shows the sums of both; one that is killed is gone, with what it had, until the other has its lanes', async () => {
  const [first, second] = [await stack().startProcessor(), await stack().startProcessor()];
  const isWhole = (state: GroupState): boolean =>
    openLanes(state) === LANES &&
    state.members.length === 2 &&
    state.members.every(({ figures, isCounted }) => isCounted && (figures?.lanesOpen ?? 0) > 0);
  const states: GroupState[] = [];
  for (const processor of [first, second]) {
    states.push(await eventually(() => ask<GroupState>(processor, '/api/group'), isWhole, 'both members to be shown'));
  }
  expect(new Set(states.map(nameOf)).size).toBe(2);
  expect(states[0]!.members.map(({ process }) => process).sort()).toEqual(
    states[1]!.members.map(({ process }) => process).sort(),
  );
  expect(states[0]!.members.map(({ address }) => address).sort()).toEqual([first.httpUrl, second.httpUrl].sort());
  expect(states[0]).toMatchObject({ callSlots: 200, untoldLanes: [], isGroupKnown: true });

  for (let index = 0; index < COMMANDS; index += 1) {
    await stack().publisher.publish('transfer-in', `both-${index}`, transferInOf(`both-${index}`));
  }
  for (let index = 0; index < COMMANDS; index += 1) await stack().journal.result(`both-${index}`);
  const accepted = ({ activity }: GroupState): number =>
    activity.results.filter(({ outcome }) => outcome === 'ACCEPTED').reduce((sum, { count }) => sum + count, 0);
  for (const processor of [first, second]) {
    const counted = (state: GroupState): boolean => accepted(state) === COMMANDS;
    const state = await eventually(
      () => ask<GroupState>(processor, '/api/group'),
      counted,
      'all results to be counted',
    );
    // Each member knows all keys of the group: they are not added up.
    expect(state.keysRemembered).toBeLessThanOrEqual(COMMANDS);
  }
  const historyOf = (): Promise<{ samples: GroupSample[] }> => ask(first, '/api/group/history');
  const hasResults = ({ samples }: { samples: GroupSample[] }): boolean =>
    samples.reduce((sum, { resultsAccepted }) => sum + resultsAccepted, 0) === COMMANDS &&
    samples.some(({ members }) => members === 2);
  const readAgain = async (): Promise<{ samples: GroupSample[] }> => {
    await ask<GroupState>(first, '/api/group');
    return historyOf();
  };
  await eventually(readAgain, hasResults, 'the samples of both to make one history');
  const given = (state: GroupState): boolean =>
    state.members.every(({ process }) =>
      state.timeline.some((event) => event.process === process && event.kind === 'lanes'),
    );
  await eventually(() => ask<GroupState>(first, '/api/group'), given, 'the lanes of both to be in the timeline');

  const killed = nameOf(states[1]!);
  await second.kill9();
  const isGone = ({ members }: GroupState): boolean =>
    members.some(({ process, standing }) => process === killed && standing === 'gone');
  const after = await eventually(() => ask<GroupState>(first, '/api/group'), isGone, 'the killed one to be gone');
  const gone = after.members.find(({ process }) => process === killed);
  expect(gone).toMatchObject({ isCounted: false, figures: { ready: true, callSlots: 100 } });
  expect(gone!.figures!.lanes.length).toBeGreaterThan(0);
  expect(Date.parse(gone!.goneSince!)).toBeGreaterThanOrEqual(Date.parse(gone!.answeredAt!));
  expect(after.callSlots).toBe(100);
  expect(after.timeline.map(({ process, text }) => `${process} ${text}`)).toContainEqual(
    expect.stringMatching(new RegExp(`^${killed} is no longer in the group; had lanes? `)),
  );
  const isTakenOver = (state: GroupState): boolean => openLanes(state) === LANES && state.untoldLanes.length === 0;
  const later = await eventually(() => ask<GroupState>(first, '/api/group'), isTakenOver, 'its lanes to be open');
  expect(new Set(later.lanes.map(({ process }) => process))).toEqual(new Set([nameOf(states[0]!)]));
  expect(later.members.map(({ standing }) => standing)).toEqual(['member', 'gone']);
});

test('a token that is exchanged in its file is the one that members ask each other with', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'group-token-'));
  const file = join(folder, 'token');
  try {
    await writeFile(file, TOKEN);
    const settings = { HTTP_AUTH_TOKEN: '', HTTP_AUTH_TOKEN_FILE: file };
    const [first] = [await stack().startProcessor(settings), await stack().startProcessor(settings)];
    // A refused question is answered without members.
    const hearsOther =
      (sinceMs: number) =>
      ({ members }: Partial<GroupState>) => {
        const other = members?.find(({ isThis }) => !isThis);
        return Date.parse(other?.answeredAt ?? '') > sinceMs;
      };
    await eventually(
      () => ask<Partial<GroupState>>(first, '/api/group'),
      hearsOther(0),
      'a report from the other member',
    );
    await writeFile(file, 'the-next-token-of-both');
    const exchangedMs = Date.now();
    await eventually(
      () => ask<Partial<GroupState>>(first, '/api/group', 'the-next-token-of-both'),
      // Both look at the file again after a second; what was asked before tells nothing.
      hearsOther(exchangedMs + 3_000),
      'a report from the other member with the next token',
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
