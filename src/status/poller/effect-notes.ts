/**
 * Effects that pages show and the ledger does not, while a call on their transaction or quote has no answer. A look-up must know of
 * them, even if the service shows an earlier status again. Noted apart from the news, which may be held, or be no news at all
 * because of its times. No I/O and no clock.
 */
import type { PossibleEffect } from '../../ledger/effect.ts';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import { effectAfter, type TransactionState } from '../transaction-state.ts';
import type { PolledObservation } from './news.ts';
import { NotYetIndexed } from './not-yet-indexed.ts';

interface Sighting {
  readonly observation: PolledObservation;
  readonly sinceMs: number;
  /** As the page shows it. */
  readonly quoteId: string | null;
  /** Number of the page that showed it last. */
  readonly addition: number;
}

export interface NotesLook {
  /** The index has everything that was committed before this addition, or was awaited for too long. */
  readonly readUpTo: number;
  readonly possibleEffects: readonly PossibleEffect[];
  /** Monotonic, as all times here. */
  readonly nowMs: number;
}

/** Bounds memory. A page that comes when it is full shows its effects again with the next poll. */
const SIGHTINGS_MAX = 1_000;
/** Most calls take less. Only a call that takes longer may end in a look-up. */
const CALL_MS = 1_000;

export class EffectNotes {
  readonly #stateOf: (id: string) => TransactionState | null | undefined;
  /** By transaction, oldest first. */
  readonly #sightings = new Map<string, Sighting>();
  /** Statuses. */
  readonly #noted = new NotYetIndexed<string | null>();

  /** @param stateOf a transaction's state in the index; null: this release cannot read it */
  constructor(stateOf: (id: string) => TransactionState | null | undefined) {
    this.#stateOf = stateOf;
  }

  /** Sightings to decide on. */
  get size(): number {
    return this.#sightings.size;
  }

  /** The first addition that still has sightings; Infinity: there is none. */
  firstAddition(): number {
    return Math.min(Infinity, ...[...this.#sightings.values()].map(({ addition }) => addition));
  }

  /**
   * @param addition counts up
   * @returns whether the page shows an effect that the ledger lacks
   */
  sight(observations: readonly PolledObservation[], addition: number, nowMs: number): boolean {
    this.#noted.prune(nowMs);
    let isSighted = false;
    for (const observation of observations) {
      const { id } = observation.transaction;
      const earlier = this.#sightings.get(id);
      if (earlier === undefined && this.#sightings.size >= SIGHTINGS_MAX) continue;
      if (!this.#isUnknown(observation, earlier?.observation.transaction.status)) continue;
      const quoteId = quoteIdAmong(observation.transaction.otherFieldsJson);
      this.#sightings.set(id, { observation, quoteId, addition, sinceMs: earlier?.sinceMs ?? nowMs });
      isSighted = true;
    }
    return isSighted;
  }

  isDue(nowMs: number): boolean {
    return this.#due(nowMs).length > 0;
  }

  /**
   * What is noted, once a call would have ended: effects that a call without an answer may have caused. The others are forgotten
   * once the ledger was read to its end: then each such call is known.
   */
  take({ nowMs, possibleEffects, readUpTo }: NotesLook): PolledObservation[] {
    const ids = new Set(possibleEffects.flatMap((effect) => (effect.on === 'transaction' ? effect.transactionId : [])));
    const quoteIds = new Set(possibleEffects.flatMap((effect) => (effect.on === 'quote' ? effect.quoteId : [])));
    const noted: PolledObservation[] = [];
    for (const { addition, observation, quoteId: shownId } of this.#due(nowMs)) {
      const { id, type } = observation.transaction;
      const quoteId = this.#stateOf(id)?.quoteId ?? shownId;
      const isOnQuote = quoteId === null ? type !== 'INCOMING' && quoteIds.size > 0 : quoteIds.has(quoteId);
      const mayBeCaused = ids.has(id) || isOnQuote;
      if (!mayBeCaused && addition > readUpTo) continue;
      this.#sightings.delete(id);
      if (!mayBeCaused || !this.#isUnknown(observation)) continue;
      noted.push({ ...observation, observedBy: 'EFFECT' });
      this.#noted.set(id, observation.transaction.status, nowMs);
    }
    return noted;
  }

  #due(nowMs: number): Sighting[] {
    return [...this.#sightings.values()].filter(({ sinceMs }) => nowMs - sinceMs >= CALL_MS);
  }

  #isUnknown({ transaction }: PolledObservation, sighted: string | null = null): boolean {
    const known = this.#stateOf(transaction.id);
    if (known === null) return false;
    const effect = sighted ?? this.#noted.get(transaction.id) ?? known?.effectStatus ?? null;
    return effectAfter(effect, transaction) !== effect;
  }
}
