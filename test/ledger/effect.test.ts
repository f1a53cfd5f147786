/** What a command acted on by its result, and what a call of it may have brought about while that is not known. */
import { describe, expect, test } from 'vitest';
import type { Reading } from '../../src/api/types.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Decision } from '../../src/ledger/decision.ts';
import { effectOf, possibleEffectOf } from '../../src/ledger/effect.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { decideByOperator } from '../../src/ledger/operator.ts';
import type { Quote, Transaction } from 'payment-processor-contract/types';
import { aPolicy, aQuote, aTransaction, doneWith, doubtful, entryAt, unknown } from './entries.ts';

const policy = aPolicy();
const creating: Entry = { ...entryAt('create-quote'), immediate: true, step: 'CREATE' };

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

describe('an effect by its result', () => {
  const refused: Reading = {
    kind: 'refused',
    httpStatus: 400,
    error: { code: 'NO', message: 'no', details: null },
    rawResponse: '',
  };

  test.each<[string, Decision, ReturnType<typeof effectOf>]>([
    [
      'a transfer that was accepted',
      accepted(entryAt('transfer-in'), { transaction: aTransaction({ id: 'Transaction:7' }) }),
      { transactionId: 'Transaction:7' },
    ],
    [
      'a quote that was made, before its execution',
      accepted(creating, { quote: aQuote({ transactionId: 'Transaction:7' }) }),
      { transactionId: 'Transaction:7' },
    ],
    [
      'an execution whose answer does not show the transaction',
      accepted(entryAt('execute-quote'), { quote: aQuote({}) }),
      { transactionId: 'Transaction:1' },
    ],
    [
      'a rejection whose answer shows nothing',
      accepted(entryAt('reject-transaction'), {}),
      { transactionId: 'Transaction:1' },
    ],
    ['a transfer whose answer shows nothing', accepted(entryAt('transfer-in'), {}), { transactionId: null }],
    ['a refusal', answered(entryAt('execute-quote'), refused), null],
    [
      'a doubt that a look-up settles',
      lookedUp(doubtful(entryAt('execute-quote')), aTransaction({ status: 'COMPLETED' })),
      { transactionId: 'Transaction:1' },
    ],
    [
      'a rejection that a look-up finds without effect',
      lookedUp(doubtful(entryAt('reject-transaction')), aTransaction({ status: 'COMPLETED' })),
      null,
    ],
    ['what a look-up finds not taken yet', lookedUp(doubtful(entryAt('execute-quote')), aTransaction()), null],
    [
      'an operator who names the transaction',
      decided(unknown(entryAt('transfer-in')), 'EXECUTED', 'Transaction:9'),
      { transactionId: 'Transaction:9' },
    ],
    [
      'an operator who does not',
      decided(unknown(entryAt('execute-quote')), 'EXECUTED', null),
      { transactionId: 'Transaction:1' },
    ],
    ['an operator who says that it had none', decided(unknown(entryAt('execute-quote')), 'NOT_EXECUTED', null), null],
    [
      'a copy that comes between a quote and its execution',
      decide({ ...creating, phase: { state: 'QUOTED' } }, { kind: 'copied', copy: { commandId: null } }, policy),
      null,
    ],
  ])('of %s', (_name, decision, effect) => {
    expect(effectOf(decision)).toEqual(effect);
  });
});

test('EXECUTED without an id names the transaction that the command is about, as its events do', () => {
  const namedIn = (entry: Entry): unknown => {
    const decision = decided(unknown(entry), 'EXECUTED', null);
    return decision.kind === 'finish' ? decision.result.transaction?.id : decision;
  };
  const executing = {
    ...entryAt('create-quote'),
    step: 'EXECUTE',
    quoted: { transactionId: 'Transaction:7' },
  } as Entry;
  expect(namedIn(entryAt('execute-quote'))).toBe('Transaction:1');
  expect(namedIn(executing)).toBe('Transaction:7');
  expect(namedIn(entryAt('transfer-in'))).toBeUndefined();
});

describe('an effect that is possible', () => {
  const parked: Entry = { ...entryAt('reject-transaction'), phase: { state: 'PARKED', untilMs: 9, reason: '' } };
  const outgoing = {
    on: 'new',
    type: 'OUTGOING',
    sourceAccountId: 'InternalAccount:1',
    destinationAccountId: 'ExternalAccount:2',
  };
  const incoming = {
    on: 'new',
    type: 'INCOMING',
    sourceAccountId: 'ExternalAccount:1',
    destinationAccountId: 'InternalAccount:1',
  };
  const quoted = { ...creating, step: 'EXECUTE', quoted: { transactionId: 'Transaction:7' } } as Entry;

  test.each<[string, Entry, object | null]>([
    ['a quote being made', creating, outgoing],
    ['a transfer under way', entryAt('transfer-in'), incoming],
    ['a transfer in doubt', doubtful(entryAt('transfer-in')), incoming],
    [
      'a payment being simulated',
      entryAt('simulate-uma-receive'),
      { on: 'new', type: 'INCOMING', sourceAccountId: null, destinationAccountId: null },
    ],
    ['an execution', entryAt('execute-quote'), { on: 'transaction', transactionId: 'Transaction:1' }],
    [
      'an execution that names its quote alone',
      { ...entryAt('execute-quote'), fieldsJson: '{"quoteId":"Quote:1"}' },
      { on: 'quote', quoteId: 'Quote:1' },
    ],
    ['a rejection', entryAt('reject-transaction'), { on: 'transaction', transactionId: 'Transaction:1' }],
    ['the execution of its own quote', quoted, { on: 'transaction', transactionId: 'Transaction:7' }],
    ['its own quote before the execution', { ...quoted, phase: { state: 'QUOTED' } }, null],
    ['what was never sent', parked, null],
    [
      'what was answered to come again',
      { ...parked, turnedAway: 1 },
      { on: 'transaction', transactionId: 'Transaction:1' },
    ],
    ['what got no clear answer', { ...parked, firstSentMs: 5 }, { on: 'transaction', transactionId: 'Transaction:1' }],
    ['what is done', doneWith(entryAt('transfer-in'), 'ACCEPTED'), null],
    ['what is UNKNOWN', unknown(entryAt('transfer-in')), null],
  ])('of %s', (_name, entry, effect) => {
    expect(possibleEffectOf(entry)).toEqual(effect === null ? null : { key: 'key-1', ...effect });
  });
});
