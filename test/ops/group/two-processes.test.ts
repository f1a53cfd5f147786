/**
 * Two processors on a real broker: each one's page data shows both, each answers for any lane, and a killed one is reported
 * gone. The tests run in order.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { processName } from '../../../src/consumers/group-processes.ts';
import type { CommandState } from '../../../src/ops/command-state.ts';
import type { GroupSample } from '../../../src/ops/group/group-history.ts';
import type { GroupState } from '../../../src/ops/group/group-state.ts';
import { executionOf, transferInOf } from '../../support/commands.ts';
import type { RunningProcessor } from '../../support/processor.ts';
import { LANES } from '../../support/stack.ts';
import { useStack } from '../../support/test-stack.ts';
import { eventually } from '../../support/watch.ts';

const COMMANDS = 12;
// The service honours no key: a look-up settles a lost execution, and nothing settles a lost transfer-in.
const stack = useStack({
  name: 'group-page',
  sandbox: { honourKeys: [] },
  settings: { API_IDEMPOTENT_OPERATIONS: '' },
});
let folder: string;
let token: string;
let first: RunningProcessor;
let second: RunningProcessor;

async function exchangeToken(next: string): Promise<void> {
  token = next;
  await writeFile(join(folder, 'token'), token);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'group-token-'));
  await exchangeToken('the-token-of-both');
  const settings = { HTTP_AUTH_TOKEN_FILE: join(folder, 'token') };
  [first, second] = [await stack().startProcessor(settings), await stack().startProcessor(settings)];
});
afterAll(() => rm(folder, { recursive: true }));

async function ask<Answer>({ httpUrl }: RunningProcessor, path: string, headers = {}): Promise<Answer> {
  const answer = await fetch(`${httpUrl}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return (await answer.json()) as Answer;
}

const nameOf = ({ processId }: GroupState): string => processName(processId);
const openLanes = ({ lanes }: GroupState): number => lanes.filter(({ stage }) => stage === 'open').length;

test('either shows the sums of both', async () => {
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
  expect(states[0]).toMatchObject({ callSlots: 200, unreportedLanes: [], isGroupKnown: true });

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
    // Every member knows all keys of the group, so they are not summed.
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
});

const search = (processor: RunningProcessor, key: string): Promise<CommandState> =>
  ask(processor, '/api/command', { 'command-key': key });

test('every member shows the state of a key, no matter which member owns its lane: settled doubt, UNKNOWN, a conflict, no such key', async () => {
  await stack().service.addFaults(
    { kind: 'drop-after', operation: 'execute-quote', key: 'looked-up', count: 1 },
    { kind: 'drop-after', operation: 'transfer-in', key: 'lost', count: 1 },
  );
  await stack().publisher.publish('execute-quote', 'looked-up', await executionOf(stack(), 'looked-up'));
  await stack().publisher.publish('transfer-in', 'lost', transferInOf('lost'));
  await stack().publisher.publish('transfer-in', 'twice', transferInOf('twice'));
  await stack().publisher.publish('transfer-in', 'twice', transferInOf('twice', 5n));
  await stack().journal.until(
    () => stack().journal.results('twice').length === 2 && stack().journal.results('lost').length === 1,
    'the results',
  );
  await stack().journal.result('looked-up');
  for (const processor of [first, second]) {
    await expect
      .poll(() => search(processor, 'looked-up'))
      .toMatchObject({ found: true, phase: 'DONE', outcome: 'ACCEPTED', attempts: 1, doubt: { isSettled: true } });
    await expect
      .poll(() => search(processor, 'lost'))
      .toMatchObject({
        found: true,
        command: 'transfer-in',
        outcome: 'UNKNOWN',
        revision: 1,
        doubt: { isSettled: false },
      });
    // The conflict is about the other message; the key's own command stands.
    await expect
      .poll(() => search(processor, 'twice'))
      .toMatchObject({ found: true, outcome: 'ACCEPTED', doubt: null });
    expect(await search(processor, 'nobody-knows')).toMatchObject({ found: false });
  }
});

test('no log line contains the key', () => {
  for (const processor of [first, second]) expect(processor.lines.join('\n')).not.toMatch(/nobody-knows|looked-up/);
});

test('after the token changes in its file, members ask each other with the new one', async () => {
  await exchangeToken('the-next-token-of-both');
  // Both reread the file after a second; earlier requests prove nothing. A refused one is answered without members.
  const sinceMs = Date.now() + 3_000;
  const hearsOther = ({ members }: Partial<GroupState>): boolean =>
    Date.parse(members?.find(({ isThis }) => !isThis)?.answeredAt ?? '') > sinceMs;
  await eventually(() => ask<Partial<GroupState>>(first, '/api/group'), hearsOther, 'the other with the next token');
});

test('a killed member is shown as gone, with its lanes, until the other has taken them over', async () => {
  const [stays, killed] = await Promise.all(
    [first, second].map(async (processor) => nameOf(await ask<GroupState>(processor, '/api/group'))),
  );
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
  const isTakenOver = (state: GroupState): boolean => openLanes(state) === LANES && state.unreportedLanes.length === 0;
  const later = await eventually(() => ask<GroupState>(first, '/api/group'), isTakenOver, 'its lanes to be open');
  expect(new Set(later.lanes.map(({ process }) => process))).toEqual(new Set([stays]));
  expect(later.members.map(({ standing }) => standing)).toEqual(['member', 'gone']);
});
