/**
 * Decides which states of a page to publish: those that the index does not show yet and that were not just published.
 * No I/O and no clock.
 */
import type { Transaction } from 'payment-processor-contract/types';
import type { Observation } from '../observation.ts';
import { endsIn, instantOf, isOnlyEffect, type TransactionState } from '../transaction-state.ts';
import { NotYetIndexed } from './not-yet-indexed.ts';

export interface ListedPage {
  readonly transactions: readonly Transaction[];
  /** When the page was requested, and answered. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** We announce unknown transactions from this creation time on. */
  readonly announcedFromMs: number;
  /** Start of its window. */
  readonly windowFromMs: number;
}

/** What the poller observes: always a transaction. */
export type PolledObservation = Observation & { readonly transaction: Transaction };

export class PollNews {
  readonly #state: (id: string) => TransactionState | null | undefined;
  /** Signatures, by transaction id. */
  readonly #published = new NotYetIndexed<string>();

  /** @param state a transaction's state in the index; null: this release cannot read it, nor could its lane */
  constructor(state: (id: string) => TransactionState | null | undefined) {
    this.#state = state;
  }

  /** @param shown all that the page shows */
  among(
    shown: readonly PolledObservation[],
    { announcedFromMs, windowFromMs }: Pick<ListedPage, 'announcedFromMs' | 'windowFromMs'>,
  ): PolledObservation[] {
    return shown.filter(({ transaction }) => {
      if (this.#published.get(transaction.id) === signatureOf(transaction)) return false;
      const known = this.#state(transaction.id);
      return known !== null && showsNews(transaction, known, announcedFromMs, windowFromMs);
    });
  }

  /** @param nowMs monotonic */
  published(observations: readonly PolledObservation[], nowMs: number): void {
    for (const { transaction } of observations) {
      this.#published.set(transaction.id, signatureOf(transaction), nowMs);
    }
    this.#published.prune(nowMs);
  }

  /** The index has a new state. */
  stateChanged(state: TransactionState): void {
    // If its observation could not be ordered, the next page must be published again.
    const isShown = this.#published.get(state.id) === signatureOf(state);
    if (state.unclearSinceMs !== null || isShown) this.#published.delete(state.id);
  }
}

export function observationsOf({ beganMs, endedMs, transactions }: ListedPage, processId: string): PolledObservation[] {
  return transactions.map((transaction) => ({
    transaction,
    quote: null,
    requestBeganMs: beganMs,
    requestEndedMs: endedMs,
    observedBy: 'POLL',
    observer: processId,
    commandKey: null,
    carried: {},
  }));
}

/** The fields that distinguish two views of a transaction. */
export function signatureOf({ status, updatedAt }: { status: string | null; updatedAt: string | null }): string {
  return `${status ?? ''} ${updatedAt ?? ''}`;
}

/**
 * Leaves out transactions created after the window, which the service's coarser filter lists too: they may have been
 * announced, and forgotten since.
 * @param toMs end of the window
 */
export function notAfter(toMs: number | null, transactions: readonly Transaction[]): readonly Transaction[] {
  return transactions.filter(({ createdAt }) => !((instantOf(createdAt) ?? -Infinity) > (toMs ?? Infinity)));
}

/**
 * @param known its state in the index
 * @param announcedFromMs we announce unknown transactions from this creation time on
 * @param windowFromMs start of the window that listed it, for a transaction without a creation time
 */
function showsNews(
  transaction: Transaction,
  known: TransactionState | undefined,
  announcedFromMs: number,
  windowFromMs: number,
): boolean {
  if (transaction.status === null) return false;
  if (known === undefined || isOnlyEffect(known))
    return (instantOf(transaction.createdAt) ?? windowFromMs) >= announcedFromMs;
  if (known.status === null || known.unclearSinceMs !== null) return true;
  const updatedMs = instantOf(transaction.updatedAt);
  const knownMs = instantOf(known.updatedAt);
  // The end of a payment may have an earlier updatedAt: its lane decides (reducer.ts).
  const isEnd = endsIn(transaction.status, known.status);
  if (updatedMs !== null && knownMs !== null && updatedMs !== knownMs && !isEnd) return updatedMs > knownMs;
  return transaction.status !== known.status;
}
