/**
 * For a lane that is lost over and over: one message at a time, each marked in the ledger before it is read, so that
 * whoever owns the lane next knows which one its last owner died of (invariant I6).
 *
 *   turn      one message of all inputs, for there is one mark; the transaction that gives it the turn writes the mark alone
 *   marked    its place is committed, with how often it was marked in a row; it may be read
 *   over      it was committed, alone, or has to wait for another reason: the mark is cleared, the next has its turn
 *
 * Owned by an open lane. A message that was marked too often is set aside unread.
 */
import type { Suspect } from '../ledger/ledger-records.ts';

/** What to do with the next message of an input. */
export type ReadingOrder =
  | { readonly kind: 'read' }
  /** Its turn begins: this mark is to be written, and nothing else. */
  | { readonly kind: 'mark'; readonly mark: Suspect }
  | { readonly kind: 'set-aside'; readonly problem: string }
  | { readonly kind: 'not-now' };

/** A message that was marked this often, and never committed, is set aside. */
export const SUSPECT_TRIES_MAX = 3;
/** After so many messages that did no harm, they are read as they come again. */
const HARMLESS_MAX = 100;

export class CarefulReading {
  readonly #suspect: Suspect | null;
  #turn: { readonly topic: string; readonly offset: bigint } | null = null;
  #harmless = 0;
  #isMarkStale = false;

  /** @param suspect the message that the lane was lost at last */
  constructor(suspect: Suspect | null) {
    this.#suspect = suspect;
  }

  isOver(): boolean {
    return this.#harmless >= HARMLESS_MAX && this.#turn === null && !this.#isMarkStale;
  }

  before(topic: string, offset: bigint): ReadingOrder {
    const turn = this.#turn;
    const suspect = this.#suspect;
    // Its mark is committed: it filled the transaction that gave the message its turn.
    if (turn !== null) return { kind: turn.topic === topic && turn.offset === offset ? 'read' : 'not-now' };
    const tries = suspect?.topic === topic && suspect.offset === offset ? suspect.tries : 0;
    const isOver = this.#harmless >= HARMLESS_MAX;
    if (tries >= SUSPECT_TRIES_MAX) {
      if (!isOver) this.#turn = { topic, offset };
      return { kind: 'set-aside', problem: `the lane was lost at this message ${tries} times in a row` };
    }
    if (isOver) return { kind: 'read' };
    this.#turn = { topic, offset };
    return { kind: 'mark', mark: { topic, offset, tries: tries + 1 } };
  }

  /** @param positions of the inputs, as committed */
  committed(positions: ReadonlyMap<string, bigint>): void {
    const turn = this.#turn;
    if (turn === null || (positions.get(turn.topic) ?? 0n) <= turn.offset) return;
    this.#turn = null;
    this.#harmless += 1;
  }

  /**
   * The message of the topic has to wait for what is not its fault.
   * @param isRead and did no harm by it; else it is marked again before it is
   */
  declined(topic: string, isRead: boolean): void {
    if (this.#turn?.topic !== topic) return;
    if (isRead) this.#harmless += 1;
    this.drain();
  }

  /** The turn ends, for the message or for the lane, which is given away in order. */
  drain(): void {
    if (this.#turn === null) return;
    this.#turn = null;
    this.#isMarkStale = true;
  }

  /** The mark in the ledger names a message that did no harm: it is to be cleared with the next transaction. */
  isMarkStale(): boolean {
    return this.#isMarkStale;
  }

  markCleared(): void {
    this.#isMarkStale = false;
  }
}
