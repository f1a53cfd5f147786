/** The fold over observations: which is newer, a quote's status, and the handling of cases that cannot be decided. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Observation } from '../../src/status/observation.ts';
import { reduce, type Reduction } from '../../src/status/reducer.ts';
import {
  decodeTransactionState,
  encodeTransactionState,
  restingSinceMs,
  type TransactionState,
} from '../../src/status/transaction-state.ts';
import type { Quote } from 'payment-processor-contract/types';
import { aTransaction } from '../ledger/entries.ts';
import { anObservation } from './observations.ts';

const ID = 'Transaction:1';
/** After everything that is seen here. */
const WRITTEN_MS = 1_000_000;

interface Seen {
  status?: string;
  quote?: string;
  updatedMs?: number | null;
  began: number;
  ended: number;
  observer?: string;
  quoteId?: string;
  by?: Observation['observedBy'];
}

function observationOf({ began, ended, observer = 'one', quote, quoteId = 'Quote:1', ...shown }: Seen): Observation {
  const { by = 'COMMAND', status, updatedMs } = shown;
  const updatedAt = updatedMs == null ? null : new Date(updatedMs).toISOString();
  return anObservation({
    transaction: status === undefined ? null : aTransaction({ type: 'INCOMING', status, updatedAt }),
    quote: quote === undefined ? null : quoteOf(quote, quoteId),
    ...{ requestBeganMs: began, requestEndedMs: ended, observedBy: by, observer },
  });
}

function quoteOf(status: string, id: string): Quote {
  return { id, status, transactionId: ID, expiresAt: null } as unknown as Quote;
}

/** Reduces one after the other, each state stored and read again as the ledger does. */
function fold(...seen: Seen[]): { state: TransactionState; transaction: string[]; quote: string[]; last: Reduction } {
  let state: TransactionState | undefined;
  let last: Reduction | undefined;
  const transaction: string[] = [];
  const quote: string[] = [];
  for (const each of seen) {
    last = reduce(state, ID, observationOf(each), WRITTEN_MS);
    state = decodeTransactionState(encodeTransactionState(last.state));
    if (last.transactionEvent !== null) transaction.push(last.transactionEvent.status);
    quote.push(...last.quoteEvents.map((event) => event.status));
  }
  return { state: state!, transaction, quote, last: last! };
}

describe('which observation is newer', () => {
  test('the end of a payment with an earlier updatedAt counts once it lasts, and no older view comes after it', () => {
    const pending = { status: 'PENDING', updatedMs: 789, began: 100, ended: 200 };
    const completed = { status: 'COMPLETED', updatedMs: 0 };
    expect(fold(pending, { ...completed, began: 60_199, ended: 60_300 }).transaction).toEqual(['PENDING']);
    const lasting = { ...completed, began: 60_200, ended: 60_300 };
    const other = { ...completed, status: 'REFUNDED', began: 160_200, ended: 160_300 };
    expect(fold(pending, lasting, pending, other).transaction).toEqual(['PENDING', 'COMPLETED']);
    expect(fold(pending, { ...lasting, status: 'SENT' }).transaction).toEqual(['PENDING']);
    const view = (began: number, updatedMs = 789): Seen => ({ ...pending, updatedMs, began, ended: began + 100 });
    expect(fold(pending, lasting, view(120_299)).transaction).toEqual(['PENDING', 'COMPLETED']);
    expect(fold(pending, lasting, view(120_299, 790)).transaction).toEqual(['PENDING', 'COMPLETED', 'PENDING']);
    expect(fold(pending, lasting, view(120_300)).transaction).toEqual(['PENDING', 'COMPLETED', 'PENDING']);
  });

  test.each([null, 50])(
    'with updatedAt %s in both, the request that began after the other ended is newer',
    (updatedMs) => {
      const { transaction } = fold(
        { status: 'SENT', updatedMs, began: 100, ended: 200 },
        { status: 'COMPLETED', updatedMs, began: 200, ended: 300 },
        { status: 'PROCESSING', updatedMs, began: 10, ended: 100 },
      );
      expect(transaction).toEqual(['SENT', 'COMPLETED']);
    },
  );

  test('overlapping requests that differ are decided by a later look, and the state says that one is wanted', () => {
    const overlapping: Seen[] = [
      { status: 'SENT', began: 100, ended: 200 },
      { status: 'COMPLETED', began: 150, ended: 250 },
    ];
    expect(fold(...overlapping)).toMatchObject({ transaction: ['SENT'], state: { unclearSinceMs: WRITTEN_MS } });
    const later = fold(...overlapping, { status: 'COMPLETED', began: 300, ended: 310 });
    expect(later).toMatchObject({ transaction: ['SENT', 'COMPLETED'], state: { unclearSinceMs: null } });
    const same = fold(...overlapping, { status: 'SENT', began: 300, ended: 310 });
    expect(same).toMatchObject({ transaction: ['SENT'], state: { unclearSinceMs: null } });
  });

  test('times of two observers are compared with a margin for their clocks', () => {
    const first: Seen = { status: 'SENT', began: 100, ended: 200 };
    expect(fold(first, { status: 'COMPLETED', began: 900, ended: 950, observer: 'two' }).transaction).toEqual(['SENT']);
    expect(fold(first, { status: 'COMPLETED', began: 1_200, ended: 1_250, observer: 'two' }).transaction).toEqual([
      'SENT',
      'COMPLETED',
    ]);
  });

  test('a status that showed an effect is remembered, also where the service takes it back', () => {
    const effectOf = (...statuses: string[]): string | null =>
      fold(...statuses.map((status, index) => ({ status, began: index * 10_000, ended: index * 10_000 + 1 }))).state
        .effectStatus;
    expect(effectOf('CREATED', 'PENDING')).toBeNull();
    expect(effectOf('PENDING', 'PROCESSING', 'PENDING')).toBe('PROCESSING');
    expect(effectOf('SENT', 'COMPLETED', 'REFUNDED')).toBe('REFUNDED');
    expect(effectOf('PENDING', 'FAILED', 'PENDING')).toBe('FAILED');
    expect(effectOf('PENDING', 'EXPIRED')).toBeNull();
    // A later view of the payment under way does not disprove the rejection.
    expect(effectOf('PENDING', 'REJECTED', 'PROCESSING', 'PENDING')).toBe('REJECTED');
    expect(effectOf('PROCESSING', 'REFUNDED', 'COMPLETED')).toBe('REFUNDED');
  });

  test.each([
    ['PENDING', 1],
    [undefined, 0],
  ])('an effect that was noted is remembered, and its event comes with the news: %s', (status, before) => {
    const known: Seen = { ...(status && { status }), began: 0, ended: 1 };
    const processing: Seen = { status: 'PROCESSING', began: 10_000, ended: 10_001 };
    const held = fold(known, { ...processing, by: 'EFFECT' }, { ...processing, status: 'PENDING', by: 'EFFECT' });
    expect(held.state).toMatchObject({ effectStatus: 'PROCESSING', status: status ?? null });
    expect(held.transaction).toHaveLength(before);
    expect(restingSinceMs(held.state)).toBe(status === undefined ? 10_001 : null);
    const free = fold(known, { ...processing, by: 'EFFECT' }, processing);
    expect(free.transaction).toEqual(fold(known, processing).transaction);
  });

  test('an effect that was noted before the answer of its command does not make what followed that answer old', () => {
    const rejected: Seen = { status: 'REJECTED', began: 2_000, ended: 2_100 };
    const answered: Seen = { status: 'PENDING', began: 0, ended: 500 };
    expect(fold({ ...rejected, by: 'EFFECT' }, answered, rejected).transaction).toEqual(['PENDING', 'REJECTED']);
  });

  test('a terminal status that changes again is a change, and is watched anew', () => {
    const { state, transaction } = fold(
      { status: 'COMPLETED', updatedMs: 50, began: 100, ended: 200 },
      { status: 'REFUNDED', updatedMs: 60, began: 900, ended: 1_000 },
    );
    expect(transaction).toEqual(['COMPLETED', 'REFUNDED']);
    expect(state.terminalSinceMs).toBe(1_000);
  });
});

describe('the status of a quote', () => {
  test('follows its transaction once that speaks, also back from a terminal status', () => {
    const { quote } = fold(
      { quote: 'PENDING', began: 0, ended: 10 },
      { quote: 'PROCESSING', began: 20, ended: 30 },
      { status: 'SENT', updatedMs: 40, began: 50, ended: 60 },
      { status: 'COMPLETED', updatedMs: 70, began: 80, ended: 90 },
      { status: 'REFUNDED', updatedMs: 100, began: 110, ended: 120 },
    );
    expect(quote).toEqual(['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED']);
  });

  test('is reported with the first answer that names the quote, even when the transaction has gone on', () => {
    const { last, quote, state } = fold(
      { status: 'COMPLETED', updatedMs: 70, began: 80, ended: 90 },
      { quote: 'PENDING', began: 0, ended: 10 },
    );
    expect(quote).toEqual(['PENDING', 'COMPLETED']);
    expect(last.quoteEvents.map(({ derivedFromTransaction }) => derivedFromTransaction)).toEqual([false, true]);
    expect(state.quoteChanges).toBe(2);
  });

  test('names the transaction that the command names, if the quote has no id of it', () => {
    const given = observationOf({ quote: 'PROCESSING', began: 0, ended: 10 });
    const quote = { ...quoteOf('PROCESSING', 'Quote:1'), transactionId: null };
    const { quoteEvents } = reduce(undefined, ID, { ...given, quote }, WRITTEN_MS);
    expect(quoteEvents.map(({ transactionId }) => transactionId)).toEqual([ID]);
  });

  test('is an end of its own that no earlier look at the transaction overrules', () => {
    const { quote } = fold(
      { status: 'COMPLETED', updatedMs: 70, began: 80, ended: 90 },
      { quote: 'FAILED', began: 200, ended: 210 },
      { status: 'REFUNDED', updatedMs: 150, began: 300, ended: 310 },
    );
    expect(quote).toEqual(['FAILED']);
  });

  test('is not taken back by an answer that is given again, nor by a transaction that lags behind', () => {
    const { quote } = fold(
      { quote: 'PENDING', began: 0, ended: 10 },
      { quote: 'COMPLETED', began: 20, ended: 30 },
      { status: 'SENT', updatedMs: 40, began: 50, ended: 60 },
      { quote: 'PENDING', began: 70, ended: 80 },
      { status: 'COMPLETED', updatedMs: 90, began: 95, ended: 99 },
    );
    expect(quote).toEqual(['PENDING', 'COMPLETED']);
  });

  test('does not follow from a name that every object has', () => {
    for (const status of ['constructor', '__proto__'])
      expect(fold({ quote: 'PENDING', began: 0, ended: 10 }, { status, began: 20, ended: 30 }).quote).toEqual([
        'PENDING',
      ]);
  });
});

const seenAnything = fc.record({
  status: fc.option(
    fc.constantFrom('CREATED', 'PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'FAILED', 'REFUNDED', 'NEW'),
    {
      nil: undefined,
    },
  ),
  quote: fc.option(fc.constantFrom('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'EXPIRED', 'NEW'), {
    nil: undefined,
  }),
  updatedMs: fc.option(fc.integer({ min: 0, max: 50 }), { nil: null }),
  began: fc.integer({ min: 0, max: 5_000 }),
  lasts: fc.integer({ min: 1, max: 2_000 }),
  observer: fc.constantFrom('one', 'two'),
  quoteId: fc.constantFrom('Quote:1', 'Quote:1', 'Quote:1', 'Quote:2'),
});

test('whatever is observed: no status follows itself, and every event continues from the previous one', () => {
  fc.assert(
    fc.property(fc.array(seenAnything, { maxLength: 20 }), (all) => {
      let state: TransactionState | undefined;
      let status: string | null = null;
      const quoteStatuses = new Map<string, string>();
      for (const { began, lasts, observer, quote, quoteId, status: shown, updatedMs } of all) {
        const seen: Seen = { began, ended: began + lasts, observer, updatedMs, quoteId };
        const observation = observationOf({
          ...seen,
          ...(shown === undefined ? {} : { status: shown }),
          ...(quote === undefined ? {} : { quote }),
        });
        const before = state;
        const reduction = reduce(state, ID, observation, WRITTEN_MS);
        state = reduction.state;
        if (reduction.transactionEvent !== null) {
          expect(reduction.transactionEvent.previousStatus).toBe(status);
          expect(reduction.transactionEvent.status).not.toBe(status);
          expect(reduction.transactionEvent.status).toBe(shown);
          status = reduction.transactionEvent.status;
        }
        expect(state.status).toBe(status);
        // Another quote of the transaction begins anew.
        if (before?.quoteId !== state.quoteId) quoteStatuses.delete(state.quoteId ?? '');
        for (const event of reduction.quoteEvents) {
          expect(event.previousStatus).toBe(quoteStatuses.get(event.quoteId) ?? null);
          expect(event.status).not.toBe(event.previousStatus);
          quoteStatuses.set(event.quoteId, event.status);
        }
        // The same observation again changes nothing.
        const again = reduce(state, ID, observation, WRITTEN_MS);
        expect([again.transactionEvent, again.quoteEvents]).toEqual([null, []]);
      }
    }),
  );
});
