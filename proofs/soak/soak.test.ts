/** A checker that sees nothing proves nothing: each kind of fault is put into correct evidence, and must be reported. */
import { expect, test } from 'vitest';
import { NO_EFFECTS } from '../../test/support/no-effects.ts';
import { growing, KINDS, Series, type Kind } from './flatness.ts';
import { judgeSoak, type SoakEvidence } from './judgement.ts';
import { sumOf } from './sampler.ts';

const MINUTES = 40;
const STEADY = 300;

/** A sample every ten seconds, in which what warms up does so in the first half; a heap is a saw. */
function seriesOf(kind: Kind, grownAt: (index: number) => number = () => 0, minutes = MINUTES): Series {
  const series = new Series();
  for (let index = 0; index < minutes * 6; index += 1) {
    const saw = kind === 'heap once collected, MiB' ? (index % 7) * 6 : 0;
    const value = kind === 'connections to the service' ? 100 : STEADY + Math.min(index, 60) + saw;
    series.add(kind, 'processor-1', index * 10_000, value + grownAt(index));
  }
  return series;
}

const ONCE = { calls: 1, effects: 1, transactionIds: [] };
const KEYS = ['transfer-in-0', 'create-quote-13', 'immediate-quote-16', 'execute-quote-18', 'reject-transaction-19'];

/** One command of each kind, the transfer twice. */
function evidenceOf(changes: Partial<SoakEvidence> = {}): SoakEvidence {
  return {
    published: KEYS,
    copied: ['transfer-in-0'],
    failed: 0,
    first: new Map(KEYS.map((key) => [key, { outcome: 'ACCEPTED', id: key, replays: key === KEYS[0] ? 1 : 0 }])),
    contradictions: [],
    effects: {
      ...NO_EFFECTS,
      operations: {
        ...NO_EFFECTS.operations,
        'transfer-in': { 'transfer-in-0': ONCE },
        'create-quote': { 'create-quote-13': ONCE, 'immediate-quote-16': ONCE },
        'execute-quote': { 'immediate-quote-16.execute': ONCE },
      },
      quotes: { one: { executeCalls: 2, executions: 1 }, other: { executeCalls: 1, executions: 1 } },
      transactions: { one: { rejectCalls: 1, rejections: 1 } },
    },
    areBooksBalanced: true,
    trends: seriesOf('memory without mapped files, MiB').trends(),
    ...changes,
  };
}

const { effects, first } = evidenceOf();
const withFirst = (outcome: 'UNKNOWN' | 'REFUSED'): SoakEvidence['first'] =>
  new Map([...first, ['transfer-in-0', { outcome, id: 'x', replays: 1 }]]);

test.each<[string, Partial<SoakEvidence>]>([
  ['without fault', {}],
  ['with a command that is UNKNOWN and may have taken effect', { first: withFirst('UNKNOWN') }],
])('evidence of a run %s is right', (_, changes) => {
  expect(judgeSoak(evidenceOf(changes))).toEqual([]);
});

test.each<[string, Partial<SoakEvidence>, RegExp]>([
  ['a lost command', { first: new Map([...first].slice(1)) }, /transfer-in: 1 without a result/],
  ['a second result', { contradictions: ['k: REFUSED after ACCEPTED'] }, /REFUSED after ACCEPTED/],
  [
    'a second effect',
    { effects: { ...effects, transactions: { one: { rejectCalls: 2, rejections: 2 } } } },
    /reject-transaction: 2 effects of 1/,
  ],
  [
    'a second effect that the sums hide, for another command had none',
    {
      published: [...KEYS, 'transfer-in-1'],
      first: new Map([...first, ['transfer-in-1', { outcome: 'ACCEPTED', id: 'x', replays: 0 }]]),
      effects: {
        ...effects,
        operations: { ...effects.operations, 'transfer-in': { 'transfer-in-0': { ...ONCE, effects: 2 } } },
      },
    },
    /transfer-in-0 took effect 2 times/,
  ],
  ['ACCEPTED without an effect', { effects: { ...effects, transactions: {} } }, /reject-transaction: 0 effects of 1/],
  ['REFUSED with an effect', { first: withFirst('REFUSED') }, /transfer-in: 1 effects of 0/],
  ['a result of nobody', { published: KEYS.slice(1) }, /5 results of 4/],
  ['a copy without an answer', { copied: ['create-quote-13'] }, /1 copies/],
  ['books out of balance', { areBooksBalanced: false }, /out of balance/],
  ['a load that was not constant', { failed: 3 }, /not constant/],
  ['processes that never lived long', { trends: [] }, /lived long enough/],
])('the judgement tells of %s', (_, changes, pattern) => {
  expect(judgeSoak(evidenceOf(changes)).join('\n')).toMatch(pattern);
});

const SHOWN_ALONE: readonly Kind[] = ['memory with mapped files, MiB', 'event loop, 99th percentile, ms'];

test.each(KINDS)('%s that stays flat is right', (kind) => {
  expect(growing(seriesOf(kind).trends())).toEqual([]);
  expect(seriesOf(kind, undefined, 14).trends()).toEqual([]);
});

test.each(KINDS.filter((kind) => !SHOWN_ALONE.includes(kind)))('%s that grows is told of', (kind) => {
  const step = kind === 'keys remembered' ? 100 : 1;
  expect(growing(seriesOf(kind, (index) => index * step).trends()).join()).toContain(kind);
});

test('a metric is the sum of its series, and null where it has none', () => {
  const metrics = '# TYPE lag gauge\nlag{lane="0"} 2\nlag{lane="1"} 3\nlag_other 9\nheap 1.5e3\n';
  expect([sumOf(metrics, 'lag'), sumOf(metrics, 'heap'), sumOf(metrics, 'none')]).toEqual([5, 1_500, null]);
});
