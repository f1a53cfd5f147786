/** The page must not show an unknown number as 0. test/operations tests it in a browser. */
import { expect, test } from 'vitest';
import { groupState, type GroupState } from '../../src/ops/group/group-state.ts';
import { createMetrics } from '../../src/ops/metrics.ts';
import { FakeProcessor, ledgerLane } from './fake-processor.ts';
import { known, stateOf } from './group/known.ts';

type Figure = { name: string; value: string; note: string };
const overview: unknown = await import(new URL('../../src/ops/page/overview.js', import.meta.url).href);
const { figuresOf } = overview as { figuresOf: (state: GroupState) => Figure[] };

const LANES = [0, 1, 2, 3, 4, 5];

function owner(lanes: readonly number[]): FakeProcessor {
  const processor = new FakeProcessor();
  const [status] = processor.lanes.lanes.values();
  processor.lanes.lanes = new Map();
  for (const lane of lanes) if (status !== undefined) processor.setLane(lane, status);
  processor.ledger.lanes = LANES.map((lane) => ledgerLane(lane));
  return processor;
}

/** Figures of a group with only this member, by name. */
async function shown(processor: FakeProcessor, names: readonly string[]): Promise<string[]> {
  const own = await stateOf(processor, 'aaaaaaaa-1');
  const state = groupState({
    nowMs: processor.nowMs,
    own,
    members: [known(own, { isThis: true })],
    samples: [],
    timeline: [],
  });
  const figures = figuresOf(state);
  return names.map((name) => {
    const { note, value } = figures.find((figure) => figure.name === name) ?? { note: '', value: 'no figure' };
    return `${value}: ${note}`;
  });
}

test('doubt in lanes that no member reports is not 0', async () => {
  const names = ['Admitted, unfinished', 'In doubt'];
  expect(await shown(owner(LANES), names)).toEqual(['0: 0 keys remembered', '0: nothing to settle']);
  expect(await shown(owner([0, 1]), names)).toEqual(['0 or more: 0 keys remembered', '0 or more: 4 lanes not counted']);
  expect(await shown(owner([]), names)).toEqual(['not known: 0 keys remembered', 'not known: 6 lanes not counted']);
});

test.each(['acquiring', 'stopped'] as const)('doubt in lanes that are %s is not 0', async (stage) => {
  const processor = owner(LANES);
  for (const [lane, status] of processor.lanes.lanes) processor.setLane(lane, { ...status, stage, entries: [] });
  expect(await shown(processor, ['Admitted, unfinished', 'In doubt', 'Oldest without a result'])).toEqual([
    '0 or more: 0 keys remembered',
    '0 or more: 6 lanes not counted',
    expect.stringMatching(/^not known/),
  ]);
});

test('dead letters are not 0 while their topic is unread, neither on the page nor for the alert', async () => {
  const processor = owner(LANES);
  const series = async (): Promise<string> => createMetrics().text(await stateOf(processor, 'aaaaaaaa-1'));
  expect(await shown(processor, ['Dead letters'])).toEqual(['0: open']);
  expect(await series()).toContain('payments_dead_letters_open{reason="NO_KEY"} 0\n');
  processor.areLettersRead = false;
  expect(await shown(processor, ['Dead letters'])).toEqual(['not known: their topic has not been read']);
  expect(await series()).not.toContain('payments_dead_letters_open{');
  processor.openLetters = [{ reason: 'NO_KEY', count: 2, lastAt: new Date(0).toISOString() }];
  expect(await shown(processor, ['Dead letters'])).toEqual(['2 or more: their topic has not been read']);
  expect(await series()).toContain('payments_dead_letters_open{reason="NO_KEY"} 2\n');
  processor.areLettersRead = true;
  processor.openLetters = [{ reason: 'NO_KEY', count: 10_000, lastAt: new Date(0).toISOString() }];
  expect(await shown(processor, ['Dead letters'])).toEqual(['10,000 or more: open']);
});

test('UNKNOWN results are not 0 while the ledger is unread', async () => {
  const processor = owner(LANES);
  expect(await shown(processor, ['UNKNOWN, to be decided'])).toEqual(['0: in any lane']);
  processor.ledger.restore = { isUnderWay: true, seconds: 3 };
  expect(await shown(processor, ['UNKNOWN, to be decided'])).toEqual(['not known: the ledger is being read']);
  const unopened = owner(LANES);
  unopened.ledger.lanes = [];
  expect(await shown(unopened, ['UNKNOWN, to be decided'])).toEqual(['not known: the ledger is being read']);
});
