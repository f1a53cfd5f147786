/**
 * Holds what pages showed until every call that may have caused it has its result. Otherwise an event could go out before its own
 * command's observation, and would not name that command. No I/O and no clock.
 *
 *   held      until the ledger is read to the end that it had after the page came: then we know all calls made before
 *   awaiting  the results of the calls that may have caused it; none: it is free
 *
 * A result and its observation are one commit. So an observation that is published after the result follows the command's own.
 * Bounded: a command that stays in doubt must not hide a payment's changes for ever.
 */
import type { PossibleEffect } from '../../ledger/effect.ts';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import type { Transaction } from 'payment-processor-contract/types';
import type { TransactionState } from '../transaction-state.ts';
import { signatureOf, type PolledObservation } from './news.ts';

interface Held {
  observations: readonly PolledObservation[];
  /** Numbers of the additions that brought its first and its last news. */
  readonly firstAddition: number;
  lastAddition: number;
  readonly sinceMs: number;
  /** Keys of the commands; null: not known yet. */
  awaiting: ReadonlySet<string> | null;
}

export interface Look {
  /** The index has everything that was committed before this addition. */
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

  /** Whether it holds the transaction as it is shown. */
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
        awaiting: null,
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
    const effects = new EffectsByPlace(look.possibleEffects);
    // If calls stay unanswered for long, the oldest news goes out without them: else the poller would stand still.
    let tooMany = this.isFull() ? this.#held.size - HELD_MAX / 2 : 0;
    for (const [id, held] of this.#held) {
      const isPushedOut = tooMany > 0 && held.lastAddition <= look.readUpTo;
      const isOver = isPushedOut || look.nowMs - held.sinceMs >= this.#heldForMsMax;
      tooMany -= 1;
      if (!isOver && !isFree(held, look, effects)) continue;
      free.push(...held.observations);
      this.#held.delete(id);
    }
    return free;
  }
}

/** Possible effects at one look, by place: of many calls, few can have caused what one transaction shows. */
class EffectsByPlace {
  readonly #byKind: ReadonlyMap<PossibleEffect['on'], readonly PossibleEffect[]>;
  readonly #byPlace: ReadonlyMap<string, readonly PossibleEffect[]>;

  constructor(effects: readonly PossibleEffect[]) {
    this.#byKind = Map.groupBy(effects, ({ on }) => on);
    this.#byPlace = Map.groupBy(effects, placeOf);
  }

  /** Effects that may have caused it, and perhaps others. */
  near({ destination, id, source }: Transaction, isNew: boolean, quoteId: string | null): PossibleEffect[] {
    const at = (...place: readonly (string | null)[]): readonly PossibleEffect[] =>
      this.#byPlace.get(JSON.stringify(place)) ?? [];
    const all = (kind: PossibleEffect['on']): readonly PossibleEffect[] => this.#byKind.get(kind) ?? [];
    const near = [...at('transaction', id), ...(quoteId === null ? all('quote') : at('quote', quoteId))];
    if (!isNew) return near;
    const [from, to] = [source?.accountId ?? null, destination?.accountId ?? null];
    if (from === null || to === null) return [...near, ...all('new')];
    // A command that names no account may use any.
    return [
      ...near,
      ...[at('new', from, to), at('new', from, null), at('new', null, to), at('new', null, null)].flat(),
    ];
  }
}

function placeOf(effect: PossibleEffect): string {
  const { on } = effect;
  switch (on) {
    case 'transaction':
      return JSON.stringify([on, effect.transactionId]);
    case 'quote':
      return JSON.stringify([on, effect.quoteId]);
    case 'new':
      return JSON.stringify([on, effect.sourceAccountId, effect.destinationAccountId]);
  }
}

function isFree(held: Held, { readUpTo, stateOf }: Look, effects: EffectsByPlace): boolean {
  const transaction = held.observations.at(-1)?.transaction;
  if (held.lastAddition > readUpTo || transaction === undefined) return false;
  const known = stateOf(transaction.id);
  const quoteId = known?.quoteId ?? quoteIdAmong(transaction.otherFieldsJson);
  const causes = effects
    .near(transaction, known === undefined, quoteId)
    .filter((effect) => mayHaveCaused(effect, transaction, known, quoteId))
    .map(({ key }) => key);
  // Calls that began since cannot have caused it.
  held.awaiting = new Set(causes.filter((key) => held.awaiting?.has(key) ?? true));
  return held.awaiting.size === 0;
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
