/**
 * For a lane that may have been lost because of a message: it reads one message at a time, and marks each in the ledger
 * first. The next owner then knows at which message the previous one died (invariant I6).
 *
 *   turn      one message at a time over all inputs, because there is only one mark. The transaction that begins the turn writes
 *             only the mark
 *   marked    the mark is committed, with how often this message was marked in a row; the lane may read the message
 *   over      the message is committed; or it must wait, through no fault of its own, and the mark is cleared. The next message has
 *             its turn
 *
 * Owned by an open lane. A message that was marked too often is set aside unread.
 */
import type { Suspect } from '../../ledger/ledger-records.ts';

/** What to do with the next message of an input. */
export type ReadingOrder =
  | { readonly kind: 'read' }
  /** Its turn begins: write this mark, and nothing else. */
  | { readonly kind: 'mark'; readonly mark: Suspect }
  | { readonly kind: 'set-aside'; readonly problem: string }
  | { readonly kind: 'not-now' };

/** A message that was marked this often, and never committed, is set aside. */
export const SUSPECT_TRIES_MAX = 3;
/** After this many harmless messages the lane reads normally again. */
const HARMLESS_MAX = 100;

export class CarefulReading {
  /** The message at which the lane was last lost. */
  readonly suspect: Suspect | null;
  #turn: { readonly topic: string; readonly offset: bigint } | null = null;
  #harmless = 0;
  #isMarkStale = false;

  constructor(suspect: Suspect | null) {
    this.suspect = suspect;
  }

  /** Null: no message is suspect. */
  suspectText(): string | null {
    return this.suspect && `${this.suspect.topic} at offset ${this.suspect.offset}, tries: ${this.suspect.tries}`;
  }

  isOver(): boolean {
    return this.#harmless >= HARMLESS_MAX && this.#turn === null && !this.#isMarkStale;
  }

  before(topic: string, offset: bigint): ReadingOrder {
    const turn = this.#turn;
    const { suspect } = this;
    // The mark is committed: it filled the transaction that began this turn.
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

  /** @param positions the committed positions of the inputs */
  committed(positions: ReadonlyMap<string, bigint>): void {
    const turn = this.#turn;
    if (turn === null || (positions.get(turn.topic) ?? 0n) <= turn.offset) return;
    this.#turn = null;
    this.#harmless += 1;
  }

  /**
   * The topic's message must wait, for a reason that is not its fault.
   * @param wasRead true: it was read without harm; false: it is marked again before it is read
   */
  postponed(topic: string, wasRead: boolean): void {
    if (this.#turn?.topic !== topic) return;
    if (wasRead) this.#harmless += 1;
    this.drain();
  }

  /** Ends the turn: the message must wait, or the lane is released. */
  drain(): void {
    if (this.#turn === null) return;
    this.#turn = null;
    this.#isMarkStale = true;
  }

  /** The turn of the marked message ended without its commit: the next transaction must clear the mark. */
  isMarkStale(): boolean {
    return this.#isMarkStale;
  }

  markCleared(): void {
    this.#isMarkStale = false;
  }
}
