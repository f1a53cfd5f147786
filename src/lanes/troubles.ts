/**
 * What befell a lane in this process, over its tenures: how often it was lost of late, and whether a message is to blame.
 * Pure, but for what it remembers. Owned by the lane.
 */
import type { Suspect } from '../ledger/ledger-records.ts';
import type { LaneLoss } from './loss.ts';

/** Losses with less time than this between them are one trouble. */
const TROUBLE_MS = 60_000;
/** Commits refused from the same place after which the lane reads carefully. */
const REFUSALS_MAX = 2;

/** Losses that follow each other. */
export interface Trouble {
  readonly losses: number;
  readonly sinceMs: number;
  readonly lastMs: number;
  /** Of the last. */
  readonly reason: LaneLoss;
  readonly message: string;
}

/** What a transaction that did not go through would have admitted. */
export interface Attempted {
  /** Input topics, with the offset that each would have gone on from. */
  readonly from: ReadonlyMap<string, bigint>;
  /** The one message that it was about; null where it was about more, or none. */
  readonly soleMessage: { readonly topic: string; readonly offset: bigint } | null;
}

export class LaneTroubles {
  #trouble: Trouble | null = null;
  #refusedFrom: ReadonlyMap<string, bigint> = new Map();
  #refusals = 0;
  #suspect: Suspect | null = null;
  /** The last loss has a cause that no message has. */
  #isExplained = false;

  lost(loss: { reason: LaneLoss; message: string; nowMs: number }, attempted: Attempted | null): void {
    const { message, nowMs, reason } = loss;
    const last = this.now(nowMs);
    this.#trouble = {
      losses: (last?.losses ?? 0) + 1,
      sinceMs: last?.sinceMs ?? nowMs,
      lastMs: nowMs,
      reason,
      message,
    };
    this.#isExplained = reason !== 'refused' && reason !== 'own-failure';
    if (reason !== 'refused' || attempted === null) return;
    const { from, soleMessage } = attempted;
    const isSamePlace = [...from].some(([topic, offset]) => this.#refusedFrom.get(topic) === offset);
    this.#refusals = isSamePlace ? this.#refusals + 1 : 1;
    this.#refusedFrom = from;
    if (soleMessage !== null) this.#suspect = { ...soleMessage, tries: this.#triesOf(soleMessage) + 1 };
  }

  /** Losses of late; null: none for a while. */
  now(nowMs: number): Trouble | null {
    return this.#trouble !== null && nowMs - this.#trouble.lastMs < TROUBLE_MS ? this.#trouble : null;
  }

  /**
   * Whether messages are to be read one at a time, and which of them the lane was lost at.
   * @param marked in the ledger, for a message that is not admitted
   * @param barren owners in a row that committed nothing
   */
  reading(
    marked: Suspect | null,
    barren: number,
    isAdmitted: (suspect: Suspect) => boolean,
  ): { isCareful: boolean; suspect: Suspect | null } {
    if (this.#suspect !== null && isAdmitted(this.#suspect)) {
      this.#suspect = null;
      this.#refusals = 0;
    }
    const excused = marked === null || !this.#isExplained ? marked : { ...marked, tries: marked.tries - 1 };
    const suspect = (this.#suspect?.tries ?? 0) >= (excused?.tries ?? 0) ? this.#suspect : excused;
    return { isCareful: suspect !== null || this.#refusals >= REFUSALS_MAX || barren >= REFUSALS_MAX, suspect };
  }

  #triesOf({ offset, topic }: { topic: string; offset: bigint }): number {
    const suspect = this.#suspect;
    return suspect?.topic === topic && suspect.offset === offset ? suspect.tries : 0;
  }
}
