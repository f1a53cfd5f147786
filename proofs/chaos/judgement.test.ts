/** A checker that sees nothing proves nothing: each kind of fault is put into correct evidence, and must be reported. */
import { expect, test } from 'vitest';
import type { CommandResult } from 'payment-processor-client';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { accountOf, STARTING_BALANCE, transferInOf } from '../../test/support/commands.ts';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { ResultEvent, TransactionEvent } from '../../test/support/journal.ts';
import { NO_EFFECTS } from '../../test/support/no-effects.ts';
import { POISON_KINDS } from '../../test/support/poison.ts';
import type { Poison } from '../../test/support/poison/kinds.ts';
import type { ChaosCommand, ChaosMessage, MessageKind } from './chaos-commands.ts';
import type { JudgedEvidence } from './chaos-evidence.ts';
import { judgeChaos } from './chaos-judgement.ts';
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
  return {
    atMs: 0,
    command: COMMAND,
    kind,
    id: kind,
    fields: COMMAND.fields,
    contentType: 'json',
    expiresAfterMs: null,
    isMisrouted: false,
  };
}

function result(outcome: string, repliesTo: string, changes: Partial<ResultEvent> = {}): ResultEvent {
  return {
    kind: 'result',
    topic: 'results',
    partition: 0,
    offset: 0n,
    timestampMs: 0,
    key: KEY,
    id: outcome === 'CONFLICT' ? 'conflict-event' : 'event',
    uniqueId: null,
    headers: { 'in-reply-to': repliesTo, ...(repliesTo === 'copy' ? { replayed: 'true' } : {}) },
    value: { outcome, revision: outcome === 'CONFLICT' ? 0 : 1 } as CommandResult,
    isReplayed: repliesTo === 'copy',
    ...changes,
  };
}

function change(previousStatus: string | null, status: string): TransactionEvent {
  const value = { previousStatus, status } as TransactionEvent['value'];
  return { ...result('', ''), kind: 'transaction-status', key: 'Transaction:1', id: `${status} event`, value };
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
    books: {
      balanced: true,
      entries: 1,
      totals: {},
      balances: [{ account: accountOf(KEY), currency: 'USD', balance }],
      transactions: 1,
      scheduledSteps: 0,
    },
    underWayAtKills: new Set(),
    unclearKeys: new Set(),
    wasCutAround: () => false,
    residentBytesMax: new Map(),
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
const wrongs: [string, JudgedEvidence, RegExp][] = [
  ['a lost command', evidenceOf({ results: [conflict] }, 0), /0 results/],
  ['two results', evidenceOf({ results: [first, { ...first, id: 'other' }, copy, conflict] }), /2 results/],
  [
    'a process that ended itself for want of a coordinator',
    evidenceOf({
      coordinatorOutages: [{ heldBackMs: 60_000, ownEnds: [{ name: 'processor-1', code: 1, signal: null }] }],
    }),
    /processor-1: ended itself/,
  ],
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
  [
    'a copy that was answered otherwise',
    evidenceOf({ results: [first, { ...copy, id: 'other' }, conflict] }),
    /another/,
  ],
  ['a copy without an answer', evidenceOf({ results: [first, conflict] }), /its copy message/],
  ['a conflict without an answer', evidenceOf({ results: [first, copy] }), /its conflict message/],
  [
    'CONFLICT for a copy',
    evidenceOf({ results: [first, copy, conflict, { ...conflict, headers: { 'in-reply-to': 'copy' } }] }),
    /which is none/,
  ],
  ['money that moved past the effects', evidenceOf({ books: { ...evidenceOf().books, balances: [] } }), /0 moved/],
  ['books out of balance', evidenceOf({ books: { ...evidenceOf().books, balanced: false } }), /books are out/],
  [
    'a status twice',
    evidenceOf({ transactionEvents: [change(null, 'SENT'), change('SENT', 'SENT')] }),
    /twice in a row/,
  ],
  [
    'a status that is skipped',
    evidenceOf({ transactionEvents: [change(null, 'PENDING'), change('SENT', 'COMPLETED')] }),
    /before it came PENDING/,
  ],
  [
    'statuses the wrong way round',
    evidenceOf({ transactionEvents: [change(null, 'SENT'), change('SENT', 'PENDING')] }),
    /wrong way round/,
  ],
  [
    'a processor that did not end in order',
    evidenceOf({ badStops: [{ name: 'processor-1', code: 1, signal: null }] }),
    /did not end in order/,
  ],
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
    poison: { put: [{ kind, poison, place }], unclear: new Set(), refused: 0, wrong: [] },
  };
}

const invalid = { ...result('INVALID', ''), key: 'poison-1', id: 'poison' };
const unreadable = { 'dlq-reason': 'UNREADABLE' };

test('poison that came to what it should is right, and no command of the run', () => {
  expect(judgeChaos(poisonedBy([invalid], [unreadable])).wrong).toEqual([]);
});

const poisonWrongs: [string, JudgedEvidence, RegExp][] = [
  ['poison without an answer', poisonedBy([], [unreadable]), /answered none, not INVALID/],
  ['poison that is answered twice', poisonedBy([invalid, { ...invalid, id: 'x' }], [unreadable]), /2 results/],
  ['poison that is not buried', poisonedBy([invalid], []), /dead letter: no, not UNREADABLE/],
  ['poison buried for another reason', poisonedBy([invalid], [{ 'dlq-reason': 'TOO_LARGE' }]), /TOO_LARGE, not/],
  ['poison buried with other bytes', poisonedBy([invalid], [unreadable], Buffer.from('x')), /another value/],
  [
    'a whole dead letter that says it is none',
    poisonedBy([invalid], [{ ...unreadable, 'dlq-by-reference': 'true' }]),
    /says that it is a reference/,
  ],
  ['a dead letter of nobody', poisonedBy([invalid], [unreadable, { 'dlq-topic': 'other' }]), /a dead letter/],
];

test.each([...wrongs, ...poisonWrongs])('the judgement tells of %s', (_name, evidence, pattern) => {
  expect(judgeChaos(evidence).wrong.join('\n')).toMatch(pattern);
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
