/** Looking transactions up for calls in doubt: over a service that has many, fails now and then, and shows new ones. */
import { describe, expect, it } from 'vitest';
import { systemClock } from 'payment-processor-contract/clock';
import type { ListReading, TransactionFilter } from '../../src/api/types.ts';
import { LookUps } from '../../src/lanes/calls/look-ups.ts';
import type { LookUpQuery } from '../../src/ledger/plan.ts';
import { aFailure, aPage } from '../api/list-readings.ts';
import { aTransaction } from '../ledger/entries.ts';
import type { Transaction } from 'payment-processor-contract/types';

const NOW_MS = Date.parse('2026-05-01T12:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Stored {
  id: string;
  createdMs: number;
  quoteId?: string;
}

/** Pages of the transactions in the window asked for; `failures` are given first, one for each request. */
class ManyTransactions {
  readonly filters: TransactionFilter[] = [];
  readonly failures: ListReading[] = [];
  onRequest: () => void = () => undefined;
  readonly #stored: readonly Stored[];

  constructor(stored: readonly Stored[]) {
    this.#stored = stored.toSorted((left, right) => right.createdMs - left.createdMs);
  }

  async listTransactions(filter: TransactionFilter): Promise<ListReading> {
    this.filters.push(filter);
    this.onRequest();
    const failure = this.failures.shift();
    if (failure !== undefined) return failure;
    const from = Date.parse(filter.startDate ?? '1970-01-01T00:00:00Z');
    const until = filter.endDate === undefined ? Infinity : Date.parse(filter.endDate);
    const matching = this.#stored.filter(({ createdMs }) => createdMs >= from && createdMs <= until);
    if (filter.sortOrder === 'asc') matching.reverse();
    const start = Number(filter.cursor ?? 0);
    const end = start + (filter.limit ?? 20);
    const hasMore = end < matching.length;
    const data = matching.slice(start, end).map(transactionOf);
    return aPage({ data, hasMore, nextCursor: hasMore ? String(end) : null });
  }
}

function transactionOf({ id, quoteId }: Stored): Transaction {
  return aTransaction({ id, otherFieldsJson: quoteId === undefined ? null : JSON.stringify({ quoteId }) });
}

function query(transactionId: string | null, other: Partial<LookUpQuery> = {}): LookUpQuery {
  return { transactionId, quoteId: null, attempts: 1, createdMs: NOW_MS, mayBeOlder: false, ...other };
}

const many = (count: number): Stored[] =>
  Array.from({ length: count }, (_, index) => ({ id: `Transaction:${index}`, createdMs: NOW_MS - index }));

describe('a look-up', () => {
  it.each([false, true])('reads each window from both ends in turn, also if it has four: %s', async (mayBeOlder) => {
    const service = new ManyTransactions([]);
    const lookUps = new LookUps(service, systemClock);
    for (let tries = 1; tries <= 2; tries += 1) await lookUps.find(query('one', { attempts: tries, mayBeOlder }));
    const orders = Map.groupBy(service.filters, ({ startDate }) => startDate);
    expect(orders.size).toBe(mayBeOlder ? 4 : 3);
    for (const filters of orders.values())
      expect(filters.map(({ sortOrder }) => sortOrder).sort()).toEqual(['asc', 'desc']);
  });

  it('finds by transaction id, and by a quote id that the service shows', async () => {
    const service = new ManyTransactions([{ id: 'Transaction:a', createdMs: NOW_MS, quoteId: 'Quote:a' }]);
    const lookUps = new LookUps(service, systemClock);
    const answers = await Promise.all([
      lookUps.find(query('Transaction:a')),
      lookUps.find(query(null, { quoteId: 'Quote:a' })),
    ]);
    expect(answers.map(({ outcome }) => outcome)).toMatchObject([
      { kind: 'found', transaction: { id: 'Transaction:a' } },
      { kind: 'found', transaction: { id: 'Transaction:a' } },
    ]);
    expect(service.filters).toHaveLength(1);
  });

  it('shares its scan, and goes on from the page that failed', async () => {
    const service = new ManyTransactions(many(1_000));
    service.onRequest = () => {
      if (service.filters.length % 4 === 0) service.failures.push(aFailure('unreachable'));
    };
    const lookUps = new LookUps(service, systemClock);
    const asked = [3, 450, 999].map((index) => lookUps.find(query(`Transaction:${index}`)));
    const answers = await Promise.all(asked);
    expect(answers.map(({ outcome }) => outcome.kind)).toEqual(['found', 'found', 'found']);
    const pages = new Set(service.filters.map(({ cursor }) => cursor));
    expect(pages.size).toBe(10);
    expect(service.filters.length).toBeGreaterThan(10);
    expect(service.filters.length).toBeLessThan(16);
  });

  it('that searches the whole week does not hold up the others', async () => {
    const older = many(20_000).map((stored) => ({ ...stored, createdMs: stored.createdMs - 2 * HOUR_MS }));
    const service = new ManyTransactions([...older, { id: 'new', createdMs: NOW_MS }]);
    const lookUps = new LookUps(service, systemClock);
    const answered: string[] = [];
    const find = async (id: string, mayBeOlder: boolean): Promise<void> => {
      const { outcome } = await lookUps.find(query(id, { mayBeOlder }));
      answered.push(`${id} ${outcome.kind} after ${service.filters.length}`);
    };
    const week = find('unlisted', true);
    // The week's scan is under way.
    await new Promise<void>((resolve) => {
      service.onRequest = () => {
        if (service.filters.length === 10) resolve();
      };
    });
    await Promise.all([week, find('unlisted-soon', false)]);
    expect(answered).toEqual(['unlisted-soon not-found after 13', 'unlisted not-found after 206']);
  });

  it('that searches the whole week keeps its place while the hours have much to look through', async () => {
    const older = many(30_000).map((stored) => ({ ...stored, createdMs: stored.createdMs - 2 * HOUR_MS }));
    const service = new ManyTransactions([...many(5_000), ...older]);
    // The week's cursors end after ten more requests.
    let lastOfWeek = 0;
    service.onRequest = () => {
      const { startDate, cursor } = service.filters.at(-1)!;
      if (Date.parse(startDate!) > NOW_MS - 24 * HOUR_MS) return;
      if (cursor !== undefined && service.filters.length - lastOfWeek > 10) service.failures.push(aFailure('refused'));
      lastOfWeek = service.filters.length;
    };
    const lookUps = new LookUps(service, systemClock);
    const answers = await Promise.all([
      lookUps.find(query('unlisted', { mayBeOlder: true })),
      ...[0, 20, 40, 60].map((minutes) => lookUps.find(query('other', { createdMs: NOW_MS + minutes * MINUTE_MS }))),
    ]);
    expect(answers.map(({ outcome }) => outcome.kind)).toEqual(Array<string>(5).fill('not-found'));
  });

  it('takes shorter pages where the service’s are too long', async () => {
    const service = new ManyTransactions(many(100));
    service.onRequest = () => {
      if ((service.filters.at(-1)?.limit ?? 0) > 10)
        service.failures.push(aFailure('unreachable', { isTooLong: true }));
    };
    const lookUps = new LookUps(service, systemClock);
    expect((await lookUps.find(query('Transaction:99'))).outcome.kind).toBe('found');
    expect(service.filters.slice(0, 5).map(({ limit }) => limit)).toEqual([100, 50, 25, 12, 6]);
  });

  it('has failed at once where asking again is of no use', async () => {
    const service = new ManyTransactions(many(300));
    service.failures.push(aFailure('unauthorized'));
    const lookUps = new LookUps(service, systemClock);
    expect((await lookUps.find(query('Transaction:1'))).outcome.kind).toBe('failed');
    expect(service.filters).toHaveLength(1);
  });

  it('is answered by the scan that is under way, if that comes to its transaction', async () => {
    const service = new ManyTransactions(many(1_000));
    const lookUps = new LookUps(service, systemClock);
    const late: ReturnType<LookUps['find']>[] = [];
    service.onRequest = () => {
      // Asked while the third page is on its way: the tenth may answer, the first may not be asked for again.
      if (service.filters.length === 3) late.push(lookUps.find(query('Transaction:950')));
    };
    await lookUps.find(query('Transaction:999'));
    expect((await Promise.all(late)).map(({ outcome }) => outcome.kind)).toEqual(['found']);
    expect(service.filters).toHaveLength(10);
  });

  it('is not answered by a page that was asked for before it', async () => {
    const service = new ManyTransactions(many(150));
    const lookUps = new LookUps(service, systemClock);
    const late: ReturnType<LookUps['find']>[] = [];
    service.onRequest = () => {
      if (service.filters.length === 1) late.push(lookUps.find(query('Transaction:50')));
    };
    await lookUps.find(query('Transaction:149'));
    await Promise.all(late);
    expect(service.filters).toHaveLength(3);
  });

  it('begins in turn at either end, so that an end which is never reached is the beginning of the next scan', async () => {
    const service = new ManyTransactions(many(1_000));
    const lookUps = new LookUps(service, systemClock);
    await lookUps.find(query('Transaction:999'));
    await lookUps.find(query('Transaction:999'));
    expect(service.filters).toHaveLength(10 + 1);
  });

  it('looks at the minutes around first, then at the hours, and at the week only where the payment may be that old', async () => {
    const service = new ManyTransactions([
      { id: 'Transaction:later', createdMs: NOW_MS + 30 * MINUTE_MS },
      { id: 'Transaction:hour', createdMs: NOW_MS - 50 * MINUTE_MS },
      { id: 'Transaction:week', createdMs: NOW_MS - 100 * HOUR_MS },
    ]);
    const lookUps = new LookUps(service, systemClock);
    expect((await lookUps.find(query('Transaction:hour'))).outcome.kind).toBe('found');
    expect((await lookUps.find(query('Transaction:later'))).outcome.kind).toBe('found');
    expect((await lookUps.find(query('Transaction:week'))).outcome.kind).toBe('not-found');
    expect((await lookUps.find(query('Transaction:week', { mayBeOlder: true }))).outcome.kind).toBe('found');
    const windows = service.filters.map(({ startDate, endDate }) =>
      [startDate, endDate].map((date) => (date === undefined ? 0 : (NOW_MS - Date.parse(date)) / MINUTE_MS)),
    );
    const [minutes, before, after, week] = [
      [10, -10],
      [60, 9],
      [-9, -60],
      [7 * 24 * 60, 59],
    ];
    const young = [minutes, before, after];
    expect(windows).toEqual([minutes, before, ...young, ...young, ...young, week]);
  });

  it('of a call of yesterday does not page through all that came since, nor do those that are asked with it', async () => {
    const service = new ManyTransactions(many(300));
    const lookUps = new LookUps(service, systemClock);
    const yesterday = query('Transaction:old', { createdMs: NOW_MS - 24 * HOUR_MS });
    const answers = await Promise.all([lookUps.find(yesterday), lookUps.find(query('Transaction:7'))]);
    expect(answers.map(({ outcome }) => outcome.kind)).toEqual(['not-found', 'found']);
    expect(service.filters.filter(({ cursor }) => cursor !== undefined).length).toBeLessThan(3);
    const hours = service.filters.map(
      ({ endDate = '', startDate = '' }) => Date.parse(endDate) - Date.parse(startDate),
    );
    expect(Math.max(...hours)).toBeLessThanOrEqual(HOUR_MS);
  });
});
