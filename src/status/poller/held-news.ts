/**
 * Holds what pages showed until every call that may have caused it has its result. Otherwise an event could go out before its own
 * command's observation, and would not name that command. No I/O and no clock.
 *
 *   held      until we have read the ledger to its end as of the page's arrival: then we know all earlier calls
 *   awaiting  until the calls that may have caused it have results; free if there are none
 *
 * A result and its observation are one commit. So an observation that is published after the result follows the command's own.
 * Bounded: a command that stays in doubt must not hide a payment's changes for ever.
 */
import type { PossibleEffect } from '../../ledger/effect.ts';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import type { Transaction } from 'payment-processor-contract/types';
import { isOnlyEffect, type TransactionState } from '../transaction-state.ts';
import { signatureOf, type PolledObservation } from './news.ts';

interface Held {
  observations: readonly PolledObservation[];
  /** Numbers of the calls of `add` with its first and its last news. */
  readonly firstAddition: number;
  lastAddition: number;
  readonly sinceMs: number;
  /** The first `take` that asked which calls may have caused it; null: none has. Calls begun later did not cause it. */
  askedAtLook: number | null;
}

export interface Look {
  /** The index has everything that was committed before this addition, or the wait for that took too long. */
  readonly readUpTo: number;
  readonly possibleEffects: readonly PossibleEffect[];
  readonly stateOf: (id: string) => TransactionState | undefined;
  /** Monotonic, as all times here. */
  readonly nowMs: number;
}

/** Transactions held; bounds memory. */
const HELD_MAX = 1_000;

export class HeldNews {
  readonly #heldForMsMax: number;
  /** By transaction, oldest first. */
  readonly #held = new Map<string, Held>();
  #looks = 0;
  /** By key: the look that first showed its possible effect. */
  #shownAtLook: ReadonlyMap<string, number> = new Map();

  constructor(heldForMsMax: number) {
    this.#heldForMsMax = heldForMsMax;
  }

  /** Transactions. */
  get size(): number {
    return this.#held.size;
  }

  isFull(): boolean {
    return this.#held.size >= HELD_MAX;
  }

  /** Whether the last held news of the transaction shows it in this state. */
  has(transaction: Transaction): boolean {
    const last = this.#held.get(transaction.id)?.observations.at(-1);
    return last !== undefined && signatureOf(last.transaction) === signatureOf(transaction);
  }

  /** @param addition counts up */
  add(news: readonly PolledObservation[], addition: number, nowMs: number): void {
    for (const observation of news) {
      const { id } = observation.transaction;
      const held = this.#held.get(id);
      this.#held.set(id, {
        observations: [...(held?.observations ?? []), observation],
        firstAddition: held?.firstAddition ?? addition,
        lastAddition: addition,
        sinceMs: held?.sinceMs ?? nowMs,
        askedAtLook: null,
      });
    }
  }

  /** The index shows this state: drops the news of it. */
  stateChanged(state: TransactionState): void {
    const held = this.#held.get(state.id);
    if (held === undefined) return;
    held.observations = held.observations.filter(({ transaction }) => signatureOf(transaction) !== signatureOf(state));
    if (held.observations.length === 0) this.#held.delete(state.id);
  }

  /** The first addition that still has held news; Infinity: there is none. */
  firstAddition(): number {
    return Math.min(Infinity, ...[...this.#held.values()].map(({ firstAddition }) => firstAddition));
  }

  /** Takes the news that is free. */
  take(look: Look): PolledObservation[] {
    const free: PolledObservation[] = [];
    const effects = this.#shown(look.possibleEffects);
    // When full, the oldest half goes out although calls are unanswered: otherwise the poller would stop.
    let excess = this.isFull() ? this.#held.size - HELD_MAX / 2 : 0;
    for (const [id, held] of this.#held) {
      const isEvicted = excess > 0 && held.lastAddition <= look.readUpTo;
      const isOver = isEvicted || look.nowMs - held.sinceMs >= this.#heldForMsMax;
      excess -= 1;
      if (!isOver && !isFree(held, look, effects)) continue;
      free.push(...held.observations);
      this.#held.delete(id);
    }
    return free;
  }

  #shown(possibleEffects: readonly PossibleEffect[]): EffectsByPlace {
    this.#looks += 1;
    const shown = possibleEffects.map((effect): ShownEffect => ({
      effect,
      sinceLook: this.#shownAtLook.get(effect.key) ?? this.#looks,
    }));
    this.#shownAtLook = new Map(shown.map(({ effect, sinceLook }) => [effect.key, sinceLook]));
    return new EffectsByPlace(
      this.#looks,
      shown.toSorted((left, right) => left.sinceLook - right.sinceLook),
    );
  }
}

/** Possible effects, indexed: there may be thousands, and each `take` searches them for up to HELD_MAX transactions. */
class EffectsByPlace {
  readonly look: number;
  readonly #oldestFirst: readonly ShownEffect[];
  readonly #grouped = new Map<keyof typeof PLACES, ReadonlyMap<string, readonly ShownEffect[]>>();

  constructor(look: number, oldestFirst: readonly ShownEffect[]) {
    this.look = look;
    this.#oldestFirst = oldestFirst;
  }

  /** Candidates for having caused it, in lists sorted oldest first. None is missing; a few may not match. */
  near(
    { destination, id, source, type }: Transaction,
    isNew: boolean,
    quoteId: string | null,
  ): readonly (readonly ShownEffect[])[] {
    const near = [this.#at('transaction', id)];
    if (quoteId !== null) near.push(this.#at('quote', quoteId));
    else if (mayBe(type, 'OUTGOING')) near.push(this.#at('any quote'));
    if (!isNew) return near;
    const [from, to] = [source?.accountId ?? null, destination?.accountId ?? null];
    for (const made of ['INCOMING', 'OUTGOING'].filter((one) => mayBe(type, one))) {
      // A command that names no account may use any.
      const [froms, tos] = [new Set([from, null]), new Set([to, null])];
      if (from !== null && to !== null)
        near.push(...[...froms].flatMap((one) => [...tos].map((other) => this.#at('new', made, one, other))));
      else if (from !== null) near.push(...[...froms].map((one) => this.#at('new from', made, one)));
      else if (to !== null) near.push(...[...tos].map((other) => this.#at('new to', made, other)));
      else near.push(this.#at('any new', made));
    }
    return near;
  }

  #at(kind: keyof typeof PLACES, ...place: readonly (string | null)[]): readonly ShownEffect[] {
    let grouped = this.#grouped.get(kind);
    if (grouped === undefined) {
      grouped = Map.groupBy(this.#oldestFirst, ({ effect }) => JSON.stringify(PLACES[kind](effect)));
      this.#grouped.set(kind, grouped);
    }
    return grouped.get(JSON.stringify(place)) ?? [];
  }
}

interface ShownEffect {
  readonly effect: PossibleEffect;
  /** Number of the look that first showed it. */
  readonly sinceLook: number;
}

/** Index keys of an effect, by kind of search; null: that search does not find it. */
const PLACES = {
  transaction: (effect) => (effect.on === 'transaction' ? [effect.transactionId] : null),
  quote: (effect) => (effect.on === 'quote' ? [effect.quoteId] : null),
  'any quote': (effect) => (effect.on === 'quote' ? [] : null),
  new: (effect) => (effect.on === 'new' ? [effect.type, effect.sourceAccountId, effect.destinationAccountId] : null),
  'new from': (effect) => (effect.on === 'new' ? [effect.type, effect.sourceAccountId] : null),
  'new to': (effect) => (effect.on === 'new' ? [effect.type, effect.destinationAccountId] : null),
  'any new': (effect) => (effect.on === 'new' ? [effect.type] : null),
} as const satisfies Record<string, (effect: PossibleEffect) => readonly (string | null)[] | null>;

/** Stops at the first call that may have caused it: there may be thousands. */
function isFree(held: Held, { readUpTo, stateOf }: Look, effects: EffectsByPlace): boolean {
  const transaction = held.observations.at(-1)?.transaction;
  if (held.lastAddition > readUpTo || transaction === undefined) return false;
  const askedAtLook = (held.askedAtLook ??= effects.look);
  const state = stateOf(transaction.id);
  const known = state === undefined || isOnlyEffect(state) ? undefined : state;
  const quoteId = known?.quoteId ?? quoteIdAmong(transaction.otherFieldsJson);
  for (const near of effects.near(transaction, known === undefined, quoteId)) {
    for (const { effect, sinceLook } of near) {
      if (sinceLook > askedAtLook) break;
      if (mayHaveCaused(effect, transaction, known, quoteId)) return false;
    }
  }
  return true;
}

function mayHaveCaused(
  effect: PossibleEffect,
  transaction: Transaction,
  known: TransactionState | undefined,
  quoteId: string | null,
): boolean {
  // Its events name that command already.
  if (effect.key === known?.commandKeys.at(-1)) return false;
  switch (effect.on) {
    case 'transaction':
      return effect.transactionId === transaction.id;
    case 'quote':
      return quoteId === null ? mayBe(transaction.type, 'OUTGOING') : quoteId === effect.quoteId;
    case 'new':
      return (
        known === undefined &&
        mayBe(transaction.type, effect.type) &&
        mayBe(transaction.source?.accountId, effect.sourceAccountId) &&
        mayBe(transaction.destination?.accountId, effect.destinationAccountId)
      );
  }
}

/** A value that is not shown or not requested matches everything. */
function mayBe(shown: string | null | undefined, asked: string | null): boolean {
  return shown == null || asked === null || shown === asked;
}
