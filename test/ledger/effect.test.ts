/** What a command acted on by its result, and what a call of it may have brought about while that is not known. */
import { expect, test } from 'vitest';
import type { Reading } from '../../src/api/types.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Decision } from '../../src/ledger/decision.ts';
import { effectOf, possibleEffectOf } from '../../src/ledger/effect.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { decideByOperator } from '../../src/ledger/operator.ts';
import type { Quote, Transaction } from 'payment-processor-contract/types';
import { aPolicy, aQuote, aTransaction, doneWith, doubtful, entryAt, resultOf, unknown } from './entries.ts';

const policy = aPolicy();
const creating: Entry = { ...entryAt('create-quote'), immediate: true, step: 'CREATE' };
const executing = { ...creating, step: 'EXECUTE', quoted: { transactionId: 'Transaction:7' } } as Entry;
const [execution, rejection, transfer] = [
  entryAt('execute-quote'),
  entryAt('reject-transaction'),
  entryAt('transfer-in'),
];

function accepted(entry: Entry, shown: { quote?: Quote; transaction?: Transaction }): Decision {
  const { quote = null, transaction = null } = shown;
  return answered(entry, { kind: 'accepted', httpStatus: 200, quote, transaction, rawResponse: null, warnings: [] });
}

function answered(entry: Entry, reading: Reading): Decision {
  return decide(entry, { kind: 'answered', attemptId: 'attempt', reading, beganMs: 1_000, nowMs: 1_100 }, policy);
}

function lookedUp(entry: Entry, transaction: Transaction): Decision {
  const finding = { kind: 'found', transaction } as const;
  const { attempts } = entry;
  return decide(entry, { kind: 'looked-up', attempts, finding, effectStatus: null, nowMs: 9_000 }, policy);
}

function decided(entry: Entry, decision: string, transactionId: string | null): Decision {
  const order = { decision, expectedRevision: 1, transactionId, operator: 'ada', reason: 'looked', id: null };
  const reply = decideByOperator(entry, order, 9_000, policy);
  if (reply.kind === 'refused') throw new Error(reply.reason);
  return reply.decision;
}

const REFUSED: Reading = {
  kind: 'refused',
  httpStatus: 400,
  error: { code: 'NO', message: 'no', details: null },
  rawResponse: '',
};
const quote = aQuote({ transactionId: 'Transaction:7' });
const completed = aTransaction({ status: 'COMPLETED' });

test.each<[string, Decision, string | null | undefined]>([
  ['a transfer that was accepted', accepted(transfer, { transaction: aTransaction() }), 'Transaction:1'],
  ['a quote that was made, before its execution', accepted(creating, { quote }), 'Transaction:7'],
  ['an execution whose answer shows no transaction', accepted(execution, { quote: aQuote({}) }), 'Transaction:1'],
  ['a rejection whose answer shows nothing', accepted(rejection, {}), 'Transaction:1'],
  ['a transfer whose answer shows nothing', accepted(transfer, {}), null],
  ['a refusal', answered(execution, REFUSED), undefined],
  ['a doubt that a look-up settles', lookedUp(doubtful(execution), completed), 'Transaction:1'],
  ['a rejection that a look-up finds without effect', lookedUp(doubtful(rejection), completed), undefined],
  ['what a look-up finds not taken yet', lookedUp(doubtful(execution), aTransaction()), undefined],
  ['an operator who names it', decided(unknown(transfer), 'EXECUTED', 'Transaction:9'), 'Transaction:9'],
  ['an operator who does not', decided(unknown(execution), 'EXECUTED', null), 'Transaction:1'],
  ['an operator who says that it had none', decided(unknown(execution), 'NOT_EXECUTED', null), undefined],
  [
    'a copy that comes between a quote and its execution',
    decide({ ...creating, phase: { state: 'QUOTED' } }, { kind: 'copied', copy: { commandId: null } }, policy),
    undefined,
  ],
])('the transaction that a result acted on: %s', (_name, decision, transactionId) => {
  expect(effectOf(decision)?.transactionId).toBe(transactionId);
});

test('EXECUTED without an id names the transaction that the command is about, as its events do', () => {
  const namedIn = (entry: Entry): unknown => resultOf(decided(unknown(entry), 'EXECUTED', null)).transaction?.id;
  expect([execution, executing, transfer].map(namedIn)).toEqual(['Transaction:1', 'Transaction:7', undefined]);
});

const parked: Entry = { ...rejection, phase: { state: 'PARKED', untilMs: 9, reason: '' } };
const outgoing = {
  ...{ on: 'new', type: 'OUTGOING' },
  ...{ sourceAccountId: 'InternalAccount:1', destinationAccountId: 'ExternalAccount:2' },
};
const incoming = {
  ...{ on: 'new', type: 'INCOMING' },
  ...{ sourceAccountId: 'ExternalAccount:1', destinationAccountId: 'InternalAccount:1' },
};
const simulated = { ...incoming, sourceAccountId: null, destinationAccountId: null };
const onTransaction = (number: number) => ({ on: 'transaction', transactionId: `Transaction:${number}` });

test.each<[string, Entry, object | null]>([
  ['a quote being made', creating, outgoing],
  ['a transfer under way', transfer, incoming],
  ['a transfer in doubt', doubtful(transfer), incoming],
  ['a payment being simulated', entryAt('simulate-uma-receive'), simulated],
  ['an execution', execution, onTransaction(1)],
  [
    'an execution that names its quote alone',
    { ...execution, fieldsJson: '{"quoteId":"Quote:1"}' },
    { on: 'quote', quoteId: 'Quote:1' },
  ],
  ['a rejection', rejection, onTransaction(1)],
  ['the execution of its own quote', executing, onTransaction(7)],
  ['its own quote before the execution', { ...executing, phase: { state: 'QUOTED' } }, null],
  ['what was never sent', parked, null],
  ['what was answered to come again', { ...parked, turnedAway: 1 }, onTransaction(1)],
  ['what got no clear answer', { ...parked, firstSentMs: 5 }, onTransaction(1)],
  ['what is done', doneWith(transfer, 'ACCEPTED'), null],
  ['what is UNKNOWN', unknown(transfer), null],
])('what a call may have brought about: %s', (_name, entry, effect) => {
  expect(possibleEffectOf(entry)).toEqual(effect === null ? null : { key: 'key-1', ...effect });
});
