/** Effects that pages show while a call has no answer: a look-up must know of them. */
import { expect, test } from 'vitest';
import type { Transaction } from 'payment-processor-contract/types';
import type { PossibleEffect } from '../../src/ledger/effect.ts';
import { EffectNotes } from '../../src/status/poller/effect-notes.ts';
import type { PolledObservation } from '../../src/status/poller/news.ts';
import { PollOutbox } from '../../src/status/poller/outbox.ts';
import { unseenState, type TransactionState } from '../../src/status/transaction-state.ts';
import { aTransaction } from '../ledger/entries.ts';
import { anObservation } from './observations.ts';

const ID = 'Transaction:1';
const EXECUTION: PossibleEffect = { key: 'e', on: 'quote', quoteId: 'Quote:1' };
const REJECTION: PossibleEffect = { key: 'r', on: 'transaction', transactionId: ID };
const TRANSFER: PossibleEffect = {
  key: 't',
  on: 'new',
  type: 'OUTGOING',
  sourceAccountId: null,
  destinationAccountId: null,
};

function shown(status: string, changes: Partial<Transaction> = {}): PolledObservation {
  const shown = { ...aTransaction({ type: 'OUTGOING' }), id: ID, otherFieldsJson: '{"quoteId":"Quote:1"}' };
  return { ...anObservation({}), observedBy: 'POLL', transaction: { ...shown, status, ...changes } };
}

function notesOf(state?: Partial<TransactionState> | null): EffectNotes {
  return new EffectNotes((id) => state && { ...unseenState(id), ...state });
}

function taken(notes: EffectNotes, possibleEffects: readonly PossibleEffect[], nowMs = 1_000): (string | null)[] {
  return notes.take({ possibleEffects, nowMs, readUpTo: 1 }).map(({ transaction }) => transaction.status);
}

test('an effect is noted once a call would have ended, if a call without an answer may have caused it', () => {
  const notes = notesOf();
  notes.sight([shown('PROCESSING')], 1, 0);
  expect(taken(notes, [EXECUTION], 999)).toEqual([]);
  const noted = notes.take({ possibleEffects: [EXECUTION], nowMs: 1_000, readUpTo: 0 });
  expect(noted).toMatchObject([{ observedBy: 'EFFECT', transaction: { status: 'PROCESSING' } }]);
  expect([notes.size, taken(notes, [EXECUTION])]).toEqual([0, []]);
});

test.each<[string, PolledObservation, PossibleEffect[], boolean]>([
  ['no call has no answer', shown('PROCESSING'), [], false],
  ['the call is on another quote', shown('PROCESSING'), [{ ...EXECUTION, quoteId: 'Quote:2' }], false],
  ['the call is on some quote, and none is shown', shown('SENT', { otherFieldsJson: null }), [EXECUTION], true],
  ['the same, incoming', shown('SENT', { otherFieldsJson: null, type: 'INCOMING' }), [EXECUTION], false],
  ['the call is on the transaction', shown('REJECTED'), [REJECTION], true],
  ['the call is on another transaction', shown('REJECTED'), [{ ...REJECTION, transactionId: 'T' }], false],
  ['the call makes a transaction', shown('PROCESSING'), [TRANSFER], false],
  ['it shows no effect', shown('PENDING'), [EXECUTION], false],
  ['only the quote expired', shown('FAILED', { failureReason: 'QUOTE_EXPIRED' }), [EXECUTION], false],
])('%s', (_case, observation, possibleEffects, isNoted) => {
  const notes = notesOf();
  notes.sight([observation], 1, 0);
  expect(taken(notes, possibleEffects)).toHaveLength(isNoted ? 1 : 0);
});

test('what the index shows is not noted, nor what this release cannot read', () => {
  for (const state of [{ effectStatus: 'PROCESSING' }, { effectStatus: 'REJECTED' }, null]) {
    const notes = notesOf(state);
    notes.sight([shown('PROCESSING')], 1, 0);
    expect(notes.size).toBe(0);
  }
});

test('a rejection stays, though the payment looks under way afterwards', () => {
  const notes = notesOf({ effectStatus: 'PROCESSING' });
  for (const status of ['REJECTED', 'PROCESSING', 'PENDING']) notes.sight([shown(status)], 1, 0);
  expect(taken(notes, [REJECTION])).toEqual(['REJECTED']);
});

test('what was noted is not noted again soon, though its lane commits nothing', () => {
  const notes = notesOf();
  const notedAt = (nowMs: number, status: string): (string | null)[] => {
    notes.sight([shown(status)], 1, nowMs);
    return taken(notes, [EXECUTION], nowMs + 1_000);
  };
  expect([notedAt(0, 'PROCESSING'), notedAt(5_000, 'PROCESSING')]).toEqual([['PROCESSING'], []]);
  expect([notedAt(10_000, 'SENT'), notedAt(15_000, 'SENT'), notedAt(50_000, 'SENT')]).toEqual([['SENT'], [], ['SENT']]);
});

test('a thousand are kept', () => {
  const notes = notesOf();
  notes.sight(
    Array.from({ length: 1_500 }, (_, index) => shown('SENT', { id: `Transaction:${index}` })),
    1,
    0,
  );
  expect(notes.size).toBe(1_000);
  expect(taken(notes, [EXECUTION])).toHaveLength(1_000);
});

test('an effect of a call that the index does not show yet waits until the ledger was read to its end', () => {
  const notes = notesOf();
  notes.sight([shown('PROCESSING')], 1, 0);
  notes.sight([shown('PENDING')], 2, 2_000);
  expect(notes.take({ possibleEffects: [], nowMs: 5_000, readUpTo: 0 })).toEqual([]);
  expect(notes.size).toBe(1);
  expect(taken(notes, [EXECUTION], 5_000)).toEqual(['PROCESSING']);
});

test('an effect is noted while no broker says where the ledger ends, and nobody asks for calls before it is due', async () => {
  let nowMs = 0;
  const published: string[] = [];
  const askedMs: number[] = [];
  const { transaction } = shown('REJECTED');
  // It is no news.
  const state: TransactionState = { ...unseenState(ID), status: 'REJECTED', updatedAt: transaction.updatedAt };
  const outbox = new PollOutbox({
    port: {
      ...{ processId: 'p', state: () => state, hasApplied: () => false },
      possibleEffects: () => {
        askedMs.push(nowMs);
        return [REJECTION];
      },
      ledgerEnds: () => new Promise<never>(() => undefined),
      publish: async (observations) => void published.push(...observations.map(({ observedBy }) => observedBy)),
      wait: async (ms) => {
        nowMs += ms;
        if (nowMs > 5_000) outbox.stop();
      },
    },
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    ...{ heldForMsMax: 60_000, onPublished: () => undefined },
  });
  outbox.add({ transactions: [transaction], beganMs: 0, endedMs: 0, announcedFromMs: 0, windowFromMs: 0 });
  await expect.poll(() => published).toEqual(['EFFECT']);
  expect(Math.min(...askedMs)).toBeGreaterThanOrEqual(1_000);
});
