/**
 * A judge who sees nothing proves nothing: each fault is put into right evidence, and must get its own sentence. A mutation of the
 * processor (`npm run simulate -- --mutations`) may be noticed by any sentence.
 */
import { expect, test } from 'vitest';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { accountOf, STARTING_BALANCE, transferInOf } from '../../test/support/commands.ts';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { ResultEvent, TransactionEvent } from '../../test/support/journal.ts';
import { NO_EFFECTS } from '../../test/support/no-effects.ts';
import { POISON_KINDS } from '../../test/support/poison.ts';
import type { BooksReport } from '../../test/support/sandbox-control.ts';
import type { Poison } from '../../test/support/poison/kinds.ts';
import type { ChaosCommand, ChaosMessage, MessageKind } from './chaos-commands.ts';
import type { ChaosEvidence, JudgedEvidence } from './chaos-evidence.ts';
import { judgeChaos } from './chaos-judgement.ts';
import { chaosReportOf } from './chaos-report.ts';
import type { ChaosOptions } from './chaos-scenario.ts';
import { ResultWatch } from './result-watch.ts';

const KEY = 'transfer-1';
const AMOUNT = 100n;

const COMMAND: ChaosCommand = {
  type: 'transfer-in',
  commandType: 'transfer-in',
  key: KEY,
  fields: transferInOf(KEY, AMOUNT),
  allowed: ['ACCEPTED'],
  subject: KEY,
  account: accountOf(KEY),
  effectAmount: AMOUNT,
  isUnreadable: false,
  hasExpiry: false,
};

function message(kind: MessageKind): ChaosMessage {
  return { command: COMMAND, kind, id: kind } as ChaosMessage;
}

function result(outcome: string, repliesTo: string): ResultEvent {
  const isConflict = outcome === 'CONFLICT';
  return {
    partition: 0,
    offset: 0n,
    key: KEY,
    id: isConflict ? 'conflict-event' : 'event',
    headers: { 'in-reply-to': repliesTo, ...(repliesTo === 'copy' ? { replayed: 'true' } : {}) },
    value: { outcome, revision: isConflict ? 0 : 1 },
  } as unknown as ResultEvent;
}

function change(previousStatus: string | null, status: string): TransactionEvent {
  const value = { previousStatus, status } as TransactionEvent['value'];
  return { key: 'Transaction:1', id: `${status} event`, value } as TransactionEvent;
}

function evidenceOf(changes: Partial<JudgedEvidence> = {}, effects = 1): JudgedEvidence {
  const tally = { calls: effects, effects, transactionIds: [] };
  const balance = (STARTING_BALANCE + AMOUNT * BigInt(effects)).toString();
  return {
    plan: { commands: [COMMAND], messages: [message('first'), message('copy'), message('conflict')] },
    honourKeys: ['transfer-in'],
    results: [result('ACCEPTED', 'first'), result('ACCEPTED', 'copy'), result('CONFLICT', 'conflict')],
    transactionEvents: [change(null, 'PENDING'), change('PENDING', 'COMPLETED'), change('COMPLETED', 'REFUNDED')],
    quoteEvents: [],
    unreadableEvents: 0,
    deadLetters: [],
    effects: { ...NO_EFFECTS, operations: { ...NO_EFFECTS.operations, 'transfer-in': { [KEY]: tally } } },
    books: { balanced: true, balances: [{ account: accountOf(KEY), currency: 'USD', balance }] } as BooksReport,
    underWayAtKills: new Set(),
    unclearKeys: new Set(),
    wasCutAround: () => false,
    residentMiBMax: new Map(),
    badStops: [],
    ...changes,
  };
}

function withFirst(outcome: string): readonly ResultEvent[] {
  return [result(outcome, 'first'), result('ACCEPTED', 'copy'), result('CONFLICT', 'conflict')];
}

test('evidence of a run without fault is right', () => {
  expect(judgeChaos(evidenceOf()).wrong).toEqual([]);
});

const [first, copy, conflict] = evidenceOf().results as [ResultEvent, ResultEvent, ResultEvent];
const NAME = 'processor-1';
const KILLED = { name: NAME, code: 1, signal: null };
const { books } = evidenceOf();
const wrongs: [string, JudgedEvidence, RegExp][] = [
  ['a lost command', evidenceOf({ results: [conflict] }, 0), /transfer-1: 0 results/],
  ['two results', evidenceOf({ results: [first, { ...first, id: 'other' }, copy, conflict] }), /2 results/],
  ['a second effect', evidenceOf({}, 2), /took effect 2 times/],
  ['ACCEPTED without an effect', evidenceOf({}, 0), /ACCEPTED, but 0 effects/],
  ['EXPIRED with an effect', evidenceOf({ results: withFirst('EXPIRED') }), /EXPIRED, but it took effect/],
  ['REFUSED for a command that was right', evidenceOf({ results: withFirst('REFUSED') }, 0), /REFUSED, not ACCEPTED/],
  ['UNKNOWN that could be settled', evidenceOf({ results: withFirst('UNKNOWN') }), /could be settled/],
  [
    'UNKNOWN of a command whose calls were all answered',
    evidenceOf({ honourKeys: [], results: withFirst('UNKNOWN') }),
    /each of its calls was answered/,
  ],
  ['another answer to a copy', evidenceOf({ results: [first, { ...copy, id: 'other' }, conflict] }), /another/],
  ['a copy without an answer', evidenceOf({ results: [first, conflict] }), /its copy message copy was not answered/],
  ['a conflict without an answer', evidenceOf({ results: [first, copy] }), /its conflict message/],
  [
    'CONFLICT for a copy',
    evidenceOf({ results: [first, copy, conflict, { ...conflict, headers: { 'in-reply-to': 'copy' } }] }),
    /which is none/,
  ],
  ['money that moved past the effects', evidenceOf({ books: { ...books, balances: [] } }), /0 moved/],
  ['books out of balance', evidenceOf({ books: { ...books, balanced: false } }), /books are out/],
  [
    'a status twice',
    evidenceOf({ transactionEvents: [change(null, 'SENT'), change('SENT', 'SENT')] }),
    /SENT comes twice in a row/,
  ],
  [
    'a status that is skipped',
    evidenceOf({ transactionEvents: [change(null, 'PENDING'), change('SENT', 'COMPLETED')] }),
    /before it came PENDING/,
  ],
  [
    'statuses the wrong way round',
    evidenceOf({ transactionEvents: [change(null, 'SENT'), change('SENT', 'PENDING')] }),
    /PENDING after SENT, the wrong way round/,
  ],
  ['a process that did not end in order', evidenceOf({ badStops: [KILLED] }), /did not end in order/],
  [
    'a process that ended itself for want of a coordinator',
    evidenceOf({ coordinatorOutages: [{ heldBackMs: 60_000, ownEnds: [KILLED] }] }),
    /ended itself/,
  ],
  ['a process with too much memory', evidenceOf({ residentMiBMax: new Map([[NAME, 512]]) }), /512 MB of memory/],
];

/** An unreadable command that was put among the others. */
function poisonedBy(
  results: readonly ResultEvent[],
  letters: readonly Partial<TopicRecord['headers']>[],
  value = Buffer.from('no command'),
): JudgedEvidence {
  const kind = POISON_KINDS.find(({ name }) => name === 'a header with no value, on an unreadable one')!;
  const place = { topic: 'commands', partition: 0, offset: 7n };
  const poison: Poison = {
    batch: Buffer.alloc(0),
    message: { key: Buffer.from('poison-1'), value: Buffer.from('no command') },
    key: 'poison-1',
    companions: [],
    messageCount: 1,
  };
  const right = evidenceOf();
  return {
    ...right,
    results: [...right.results, ...results],
    deadLetters: letters.map((headers) => ({
      topic: 'dead-letters',
      partition: 0,
      offset: 0n,
      timestampMs: 0,
      key: Buffer.from('poison-1'),
      value,
      headers: { 'dlq-topic': 'commands', 'dlq-partition': '0', 'dlq-offset': '7', ...headers },
    })),
    poison: { put: [{ kind, poison, place }], unclear: new Set(), refused: 0, wrong: [], besidesAccepted: [] },
  };
}

const invalid = { ...result('INVALID', ''), key: 'poison-1', id: 'poison' };
const unreadable = { 'dlq-reason': 'UNREADABLE' };

test('poison that came to what it should is right, and no command of the run', () => {
  expect(judgeChaos(poisonedBy([invalid], [unreadable])).wrong).toEqual([]);
});

const poisonWrongs: [string, JudgedEvidence, RegExp][] = [
  ['poison without an answer', poisonedBy([], [unreadable]), /answered none, not INVALID/],
  ['poison answered twice', poisonedBy([invalid, { ...invalid, id: 'x' }], [unreadable]), /poison-1 at 0:7: 2 results/],
  ['poison that is not buried', poisonedBy([invalid], []), /dead letter: no, not UNREADABLE/],
  ['poison buried with other bytes', poisonedBy([invalid], [unreadable], Buffer.from('x')), /another value/],
  [
    'a whole dead letter that says that it is a reference',
    poisonedBy([invalid], [{ ...unreadable, 'dlq-by-reference': 'true' }]),
    /says that it is a reference/,
  ],
  ['a dead letter of nobody', poisonedBy([invalid], [unreadable, { 'dlq-topic': 'other' }]), /a dead letter/],
];

test.each([...wrongs, ...poisonWrongs])('the judgement tells of %s', (_name, evidence, pattern) => {
  expect(judgeChaos(evidence).wrong.join('\n')).toMatch(pattern);
});

test.each<[string, string[], Record<string, number>, string[]]>([
  ['that had none of its disturbances is no proof', ['broker killed'], {}, ['none of its disturbances took place']],
  ['that had some is one', ['broker killed', 'rolling restart'], { 'broker killed': 1 }, []],
  ['without disturbances is one', [], {}, []],
])('a scene %s', (_, disturbances, counted, wrong) => {
  const figures = { coordinatorOutages: [], faultHits: {}, recoveries: [], readinessAtTheEnd: [], ownEnds: [] };
  const evidence = { ...evidenceOf(), ...figures, disturbances: counted } as Partial<ChaosEvidence> as ChaosEvidence;
  expect(chaosReportOf({ disturbances } as Partial<ChaosOptions> as ChaosOptions, evidence).wrong).toEqual(wrong);
});

test('the first result of a key counts, a contradiction is reported, and a record that is read again is ignored', () => {
  const results = new ResultWatch({} as ClientSettings);
  const replay = { ...copy, offset: 1n, id: first.id };
  for (const each of [first, replay, first]) results.take(each);
  expect(results.contradictions).toEqual([]);
  expect(results.first.get(KEY)).toEqual({ outcome: 'ACCEPTED', id: first.id, replays: 1 });
  results.take({ ...first, offset: 2n, id: 'two' });
  expect(results.contradictions).toEqual([`${KEY}: ACCEPTED (two) after ACCEPTED (${first.id})`]);
});
