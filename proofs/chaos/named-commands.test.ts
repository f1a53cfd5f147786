/** A judge who sees nothing proves nothing: each kind of fault is put into correct events, and must be reported. */
import { describe, expect, test } from 'vitest';
import type { QuoteEvent, ResultEvent, TransactionEvent } from '../../test/support/journal.ts';
import { judgeNamedCommands, type Act, type NamedEvidence } from './named-commands.ts';

const ID = 'Transaction:1';
const QUOTE_ID = 'Quote:1';
const HELD_MS = 60_000;
const CREATED: Act = { key: 'create', operation: 'create-quote', transactionId: ID, atMs: 1_000 };
const EXECUTED: Act = { key: 'execute', operation: 'execute-quote', transactionId: ID, atMs: 5_000 };

function event(status: string, changedMs: number, commandKeys: string[], observedBy = 'POLL'): TransactionEvent {
  const commandKey = commandKeys.at(-1) ?? null;
  const changedAt = new Date(changedMs).toISOString();
  const headers = commandKey === null ? {} : { 'correlation-id': `order of ${commandKey}` };
  const value = { transactionId: ID, status, changedAt, commandKey, commandKeys, observedBy };
  return { kind: 'transaction-status', key: ID, timestampMs: changedMs + 400, headers, value } as never;
}

function quoteEvent(status: string, commandKey: string | null): QuoteEvent {
  const headers = commandKey === null ? {} : { 'correlation-id': `order of ${commandKey}` };
  return { timestampMs: 9_000, headers, value: { quoteId: QUOTE_ID, transactionId: ID, status, commandKey } } as never;
}

function result(key: string, outcome: string, timestampMs: number, revision = 1): ResultEvent {
  const value = { outcome, revision, transaction: null, quote: { transactionId: ID } };
  return { key, timestampMs, headers: {}, value } as never;
}

const PENDING = event('PENDING', 1_000, ['create']);
const PROCESSING = event('PROCESSING', 5_000, ['create', 'execute']);
const COMPLETED = event('COMPLETED', 7_000, ['create', 'execute']);
const RESULTS = [result('create', 'ACCEPTED', 1_100), result('execute', 'ACCEPTED', 5_100)];

function evidenceWith(changes: Partial<NamedEvidence>): NamedEvidence {
  return {
    transactionEvents: [PENDING, PROCESSING, COMPLETED],
    quoteEvents: [quoteEvent('PENDING', 'create'), quoteEvent('COMPLETED', 'execute')],
    results: RESULTS,
    acts: [CREATED, EXECUTED],
    subjectOf: () => null,
    correlationIdOf: (key) => `order of ${key}`,
    heldForMsMax: HELD_MS,
    ...changes,
  };
}

function judged(changes: Partial<NamedEvidence>): string[] {
  return judgeNamedCommands(evidenceWith(changes));
}

describe('events beside the books of the service', () => {
  test.each<[string, Partial<NamedEvidence>]>([
    ['that name their commands', {}],
    [
      'of payments that nobody commanded',
      { acts: [], results: [], quoteEvents: [], transactionEvents: [event('PENDING', 1_000, [])] },
    ],
    [
      'that show a command before it was known to have been taken, where it was UNKNOWN by then',
      {
        results: [RESULTS[0]!, result('execute', 'UNKNOWN', 5_100), result('execute', 'ACCEPTED', 5_200, 2)],
        transactionEvents: [PENDING, event('PROCESSING', 5_000, ['create'])],
      },
    ],
    [
      'that were held for as long as anything is',
      {
        results: [RESULTS[0]!, result('execute', 'ACCEPTED', 90_000)],
        transactionEvents: [PENDING, { ...event('PROCESSING', 5_000, ['create']), timestampMs: 5_000 + HELD_MS }],
      },
    ],
    [
      'of a quote that was made twice, for its first answer was lost',
      {
        acts: [CREATED, { ...CREATED, transactionId: 'Transaction:0' }],
        transactionEvents: [{ ...event('PENDING', 1_000, []), key: 'Transaction:0' }],
        quoteEvents: [],
      },
    ],
    [
      'that a look-up of another command showed',
      { transactionEvents: [PENDING, event('PROCESSING', 5_000, ['create'], 'COMMAND')] },
    ],
  ])('%s are right', (_name, changes) => {
    expect(judged(changes)).toEqual([]);
  });

  test.each<[string, Partial<NamedEvidence>]>([
    ['nothing', { transactionEvents: [event('PENDING', 1_000, [])] }],
    ['the first command alone', { transactionEvents: [PENDING, event('PROCESSING', 5_000, ['create'])] }],
    ['the first command as the last', { transactionEvents: [event('PROCESSING', 8_000, ['execute', 'create'])] }],
    ['a command no more', { transactionEvents: [PENDING, event('PROCESSING', 5_000, ['execute'])] }],
    ['a command twice', { transactionEvents: [event('PENDING', 1_000, ['create', 'create'])] }],
    ['a command that did nothing', { transactionEvents: [event('PENDING', 1_000, ['other', 'create'])] }],
    [
      'another command than the last of all',
      { transactionEvents: [{ ...PENDING, value: { ...PENDING.value, commandKey: 'execute' } }] },
    ],
    ['the headers of another', { transactionEvents: [{ ...PENDING, headers: { 'correlation-id': 'order of x' } }] }],
    ['no headers', { transactionEvents: [{ ...PENDING, headers: {} }] }],
    [
      'a command before its result, and not held',
      {
        transactionEvents: [PENDING, event('PROCESSING', 5_000, ['create'])],
        results: [RESULTS[0]!, result('execute', 'ACCEPTED', 30_000)],
      },
    ],
    [
      'no command long after an operator’s word',
      {
        results: [RESULTS[0]!, result('execute', 'ACCEPTED', 5_100, 2)],
        transactionEvents: [PENDING, { ...event('PROCESSING', 5_000, ['create']), timestampMs: 5_100 + HELD_MS }],
      },
    ],
    ['no command for a quote', { quoteEvents: [quoteEvent('COMPLETED', null)] }],
    ['a command that did nothing to a quote', { quoteEvents: [quoteEvent('COMPLETED', 'other')] }],
  ])('that name %s are wrong', (_name, changes) => {
    expect(judged(changes)).not.toEqual([]);
  });
});
