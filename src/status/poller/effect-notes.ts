/**
 * Effects that pages show and the ledger does not, while a call on their transaction or quote has no answer. A look-up must know of
 * them, even if the service shows an earlier status again. Noted apart from the news, which may be held, or be no news at all
 * because of its times. No I/O and no clock.
 */
import type { PossibleEffect } from '../../ledger/effect.ts';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import { effectAfter, type TransactionState } from '../transaction-state.ts';
import type { PolledObservation } from './news.ts';

interface Sighting {
  readonly observation: PolledObservation;
  readonly sinceMs: number;
}

/** Bounds memory. A page that comes when it is full shows its effects again with the next poll. */
const SIGHTINGS_MAX = 1_000;
/** Most calls take less. Only a call that takes longer may end in a look-up. */
const CALL_MS = 1_000;

export class EffectNotes {
  readonly #stateOf: (id: string) => TransactionState | null | undefined;
  /** By transaction, oldest first. */
  readonly #sightings = new Map<string, Sighting>();

  /** @param stateOf a transaction's state in the index; null: this release cannot read it */
  constructor(stateOf: (id: string) => TransactionState | null | undefined) {
    this.#stateOf = stateOf;
  }

  /** Sightings to decide on. */
  get size(): number {
    return this.#sightings.size;
  }

  /** @param nowMs monotonic, as all times here */
  sight(observations: readonly PolledObservation[], nowMs: number): void {
    for (const observation of observations) {
      const { id } = observation.transaction;
      const earlier = this.#sightings.get(id);
      if (earlier === undefined && this.#sightings.size >= SIGHTINGS_MAX) continue;
      if (this.#isUnknown(observation, earlier?.observation.transaction.status))
        this.#sightings.set(id, { observation, sinceMs: earlier?.sinceMs ?? nowMs });
    }
  }

  /** Takes each sighting once a call would have ended: what it shows is noted if a call without an answer may have caused it. */
  take(possibleEffects: readonly PossibleEffect[], nowMs: number): PolledObservation[] {
    const due = [...this.#sightings.values()].filter(({ sinceMs }) => nowMs - sinceMs >= CALL_MS);
    if (due.length === 0) return [];
    for (const { observation } of due) this.#sightings.delete(observation.transaction.id);
    const ids = new Set(possibleEffects.flatMap((effect) => (effect.on === 'transaction' ? effect.transactionId : [])));
    const quoteIds = new Set(possibleEffects.flatMap((effect) => (effect.on === 'quote' ? effect.quoteId : [])));
    return due
      .map(({ observation }): PolledObservation => ({ ...observation, observedBy: 'EFFECT' }))
      .filter((observation) => {
        const { id, otherFieldsJson, type } = observation.transaction;
        const quoteId = this.#stateOf(id)?.quoteId ?? quoteIdAmong(otherFieldsJson);
        const isOnQuote = quoteId === null ? type !== 'INCOMING' && quoteIds.size > 0 : quoteIds.has(quoteId);
        return (ids.has(id) || isOnQuote) && this.#isUnknown(observation);
      });
  }

  #isUnknown({ transaction }: PolledObservation, sighted: string | null = null): boolean {
    const known = this.#stateOf(transaction.id);
    if (known === null) return false;
    const effect = sighted ?? known?.effectStatus ?? null;
    return effectAfter(effect, transaction) !== effect;
  }
}
