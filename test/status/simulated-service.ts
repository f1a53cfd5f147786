/**
 * GET /transactions of a service whose payments have a history that is known beforehand. It may order its pages as it
 * likes, leave out timestamps, keep whole seconds, and have a clock of its own. Cursors are offsets: pages shift when
 * transactions come or leave the filter while they are read.
 */
import type { ListReading, TransactionFilter } from '../../src/api/types.ts';
import type { Quote, Transaction } from 'payment-processor-contract/types';
import { aPage } from '../api/list-readings.ts';
import { aQuote, aTransaction } from '../ledger/entries.ts';

export interface Change {
  atMs: number;
  status: string;
  failureReason: string | null;
}

export interface Payment {
  id: string;
  /** Oldest first; the first is its creation. */
  changes: readonly [Change, ...Change[]];
}

/** A payment with these statuses; the first is that of its creation. */
export function paymentOf(id: string, ...statuses: [[atMs: number, status: string], ...[number, string][]]): Payment {
  return { id, changes: statuses.map(([atMs, status]) => ({ atMs, status, failureReason: null })) as [Change] };
}

export interface ServiceManner {
  order: 'asc' | 'desc' | 'shuffled';
  updatedAt: 'milliseconds' | 'seconds' | 'none';
  hasCreatedAt: boolean;
  /** Of the service's clock against ours. */
  clockAheadMs: number;
}

export const PLAIN_MANNER: ServiceManner = {
  order: 'desc',
  updatedAt: 'milliseconds',
  hasCreatedAt: true,
  clockAheadMs: 0,
};

export class SimulatedService {
  readonly #payments: Payment[];
  readonly #manner: ServiceManner;

  constructor(payments: readonly Payment[], manner: ServiceManner) {
    this.#payments = [...payments].sort((left, right) => left.changes[0].atMs - right.changes[0].atMs);
    this.#manner = manner;
  }

  list(filter: TransactionFilter, nowMs: number): ListReading {
    const fromMs = this.#ours(filter.startDate) ?? -Infinity;
    const toMs = Math.min(this.#ours(filter.endDate) ?? Infinity, nowMs);
    const first = this.#firstFrom(fromMs);
    const matching: Payment[] = [];
    for (let index = first; index < this.#payments.length; index += 1) {
      const payment = this.#payments[index]!;
      if (payment.changes[0].atMs > toMs) break;
      if (filter.status === undefined || changeAt(payment, nowMs).status === filter.status) matching.push(payment);
    }
    if (this.#manner.order === 'desc') matching.reverse();
    if (this.#manner.order === 'shuffled')
      matching.sort((left, right) => (scrambled(left.id) < scrambled(right.id) ? -1 : 1));
    const offset = Number(filter.cursor ?? 0);
    const limit = filter.limit ?? 20;
    const data = matching.slice(offset, offset + limit).map((payment) => this.view(payment, nowMs));
    const hasMore = matching.length > offset + limit;
    const nextCursor = hasMore ? String(offset + limit) : null;
    return aPage({ data, hasMore, nextCursor, totalCount: BigInt(matching.length) });
  }

  view(payment: Payment, nowMs: number): Transaction {
    const { updatedAt, hasCreatedAt } = this.#manner;
    const change = changeAt(payment, nowMs);
    const updatedMs = change.atMs - (updatedAt === 'seconds' ? this.#theirs(change.atMs) % 1000 : 0);
    return aTransaction({
      id: payment.id,
      type: 'INCOMING',
      status: change.status,
      failureReason: change.failureReason,
      createdAt: hasCreatedAt ? this.#text(payment.changes[0].atMs) : null,
      updatedAt: updatedAt === 'none' ? null : this.#text(updatedMs),
    });
  }

  /** What the execution of an outgoing payment's quote answers. */
  executedQuote(payment: Payment): Quote {
    const createdAt = this.#manner.hasCreatedAt ? this.#text(payment.changes[0].atMs) : null;
    return aQuote({ id: `Quote:${payment.id}`, status: 'PROCESSING', transactionId: payment.id, createdAt });
  }

  #theirs(ms: number): number {
    return ms + this.#manner.clockAheadMs;
  }

  #text(ms: number): string {
    return new Date(this.#theirs(ms)).toISOString();
  }

  #ours(text: string | undefined): number | null {
    return text === undefined ? null : Date.parse(text) - this.#manner.clockAheadMs;
  }

  #firstFrom(fromMs: number): number {
    let low = 0;
    let high = this.#payments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#payments[middle]!.changes[0].atMs >= fromMs) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

export function changeAt(payment: Payment, nowMs: number): Change {
  return payment.changes.findLast(({ atMs }) => atMs <= nowMs) ?? payment.changes[0];
}

/** An order that has nothing to do with time. */
function scrambled(id: string): string {
  return Array.from(id).reverse().join('');
}
