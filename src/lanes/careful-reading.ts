/**
 * For a lane that is lost over and over: one message at a time, each marked in the ledger before it is read, so that
 * whoever owns the lane next knows which one its last owner died of (invariant I6).
 *
 *   turn      one message of all inputs, for there is one mark
 *   marked    its place is committed, with how often it was marked in a row
 *   over      it was committed, alone, or has to wait for another reason: the mark is cleared, the next has its turn
 *
 * Owned by an open lane. A message that was marked too often is set aside unread.
 */
import type { ReadingOrder } from '../consumers/inbox.ts';
import type { Suspect } from '../ledger/ledger-records.ts';

/** A message that was marked this often, and never committed, is set aside. */
export const SUSPECT_TRIES_MAX = 3;
/** After so many messages that did no harm, they are read as they come again. */
const HARMLESS_MAX = 100;

export class CarefulReading {
  readonly #suspect: Suspect | null;
  readonly #mark: (suspect: Suspect) => Promise<void>;
  #turn: { readonly topic: string; readonly offset: bigint; readonly end: () => void } | null = null;
  #lastTurn: Promise<void> = Promise.resolve();
  #harmless = 0;
  #isMarkStale = false;

  /**
   * @param suspect the message that the lane was lost at last
   * @param mark commits a mark; rejects when that is not certain
   */
  constructor(suspect: Suspect | null, mark: (suspect: Suspect) => Promise<void>) {
    this.#suspect = suspect;
    this.#mark = mark;
  }

  isOver(): boolean {
    return this.#harmless >= HARMLESS_MAX && this.#turn === null && !this.#isMarkStale;
  }

  /** Waits for the message's turn, and marks it. Never rejects. */
  async before(topic: string, offset: bigint): Promise<ReadingOrder> {
    // It is read again: its own turn goes on.
    if (this.#turn?.topic === topic && this.#turn.offset === offset) return { kind: 'read' };
    const turn = this.#lastTurn;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#lastTurn = promise;
    await turn;
    const suspect = this.#suspect;
    const tries = suspect?.topic === topic && suspect.offset === offset ? suspect.tries : 0;
    const end = (): void => resolve(undefined);
    const isOver = this.#harmless >= HARMLESS_MAX;
    // Nobody would end a turn that began now.
    if (isOver) end();
    if (tries >= SUSPECT_TRIES_MAX) {
      if (!isOver) this.#turn = { topic, offset, end };
      return { kind: 'set-aside', problem: `the lane was lost at this message ${tries} times in a row` };
    }
    if (isOver) return { kind: 'read' };
    try {
      await this.#mark({ topic, offset, tries: tries + 1 });
    } catch {
      // The lane is over or given away: its next owner reads the message.
      end();
      return { kind: 'not-now' };
    }
    this.#turn = { topic, offset, end };
    return { kind: 'read' };
  }

  /** @param positions of the inputs, as committed */
  committed(positions: ReadonlyMap<string, bigint>): void {
    this.#isMarkStale = false;
    const turn = this.#turn;
    if (turn !== null && (positions.get(turn.topic) ?? 0n) > turn.offset) this.#endTurn();
  }

  /** The message of the topic was read and has to wait for what is not its fault. */
  declined(topic: string): void {
    if (this.#turn?.topic !== topic) return;
    this.#endTurn();
    this.#isMarkStale = true;
  }

  /** The lane is given away in order. */
  drain(): void {
    if (this.#turn === null) return;
    this.#endTurn();
    this.#isMarkStale = true;
  }

  /** The mark in the ledger names a message that did no harm: it is to be cleared with the next transaction. */
  isMarkStale(): boolean {
    return this.#isMarkStale;
  }

  #endTurn(): void {
    this.#turn?.end();
    this.#turn = null;
    this.#harmless += 1;
  }
}
