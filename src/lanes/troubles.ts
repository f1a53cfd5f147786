/**
 * How a lane was lost, in a few words that can be counted; how often of late, over all its openings in this process; and whether
 * a message is to blame. Pure, but for what it remembers. Owned by the lane.
 */
import type { Suspect } from '../ledger/ledger-records.ts';
import { TransactionFailedError } from '../producers/transactional-producer.ts';

export type LaneLoss =
  /** Another process has fenced this one's producer, or the broker has given its transaction up. */
  | 'fenced'
  /** It is not certain that the last transaction was committed. */
  | 'not-committed'
  /** The broker does not take what the lane would commit, and will not: a batch that is too large, a record that is wrong. */
  | 'refused'
  /** The process's producer broke at the commit of another lane, or of several. */
  | 'with-others'
  /** The group had counted this process out: the lane may have been another's. */
  | 'counted-out'
  /** An attempt to acquire it failed; it is tried again. */
  | 'not-acquired'
  /** Our own code failed: a bug. */
  | 'own-failure';

/** Losses with less time than this between them are one trouble. */
const TROUBLE_MS = 60_000;
/** A commit that failed this soon after the one before it seems to have the same cause. */
const SAME_CAUSE_MS = 10_000;
/** So many failed commits in a row may be chance; later ones have a cause that lasts, such as a right that was taken away. */
const CHANCE_FAILURES_MAX = 3;
const RETAKE_MS_MIN = 300;
const RETAKE_MS_MAX = 5_000;
/** Owners in a row that committed nothing, after which the lane is read carefully. */
const BARREN_MAX = 2;

/** Losses that follow each other. */
export interface Trouble {
  readonly losses: number;
  readonly sinceMs: number;
  readonly lastMs: number;
  /** Of the last. */
  readonly reason: LaneLoss;
  readonly message: string;
}

/** Where a message is in its lane. */
export interface MessagePlace {
  readonly topic: string;
  readonly offset: bigint;
}

/** The process's producer broke at the commit of another lane, or of several, where no lane need be to blame. */
export class LostWithOthersError extends Error {}

export class Troubles {
  #trouble: Trouble | null = null;
  /** Something was refused since the lane was opened last. */
  #wasRefused = false;
  #suspect: Suspect | null = null;
  /** The last loss has a cause that no message has. */
  #isExplained = false;
  /** Failed commits, each soon after the one before it. */
  #failedInRow = 0;

  /** @param soleMessage what the last transaction was about; null where it was about more, or none */
  lost(loss: { reason: LaneLoss; message: string; nowMs: number }, soleMessage: MessagePlace | null): void {
    const { message, nowMs, reason } = loss;
    const last = this.now(nowMs);
    if (last === null || nowMs - last.lastMs >= SAME_CAUSE_MS) this.#failedInRow = 0;
    if (reason === 'not-committed') this.#failedInRow += 1;
    this.#trouble = {
      losses: (last?.losses ?? 0) + 1,
      sinceMs: last?.sinceMs ?? nowMs,
      lastMs: nowMs,
      reason,
      message,
    };
    this.#isExplained = reason !== 'refused' && reason !== 'own-failure';
    if (reason !== 'refused') return;
    this.#wasRefused = true;
    if (soleMessage !== null) this.#suspect = { ...soleMessage, tries: this.#triesOf(soleMessage) + 1 };
  }

  /** Losses of late; null: none for a while. */
  now(nowMs: number): Trouble | null {
    return this.#trouble !== null && nowMs - this.#trouble.lastMs < TROUBLE_MS ? this.#trouble : null;
  }

  /** How long to wait before the lane is taken again. 0, unless its commits fail for a cause that lasts. */
  retakeMs(): number {
    const lasting = this.#failedInRow - CHANCE_FAILURES_MAX;
    return lasting <= 0 ? 0 : Math.min(RETAKE_MS_MIN * 2 ** (lasting - 1), RETAKE_MS_MAX);
  }

  /**
   * For a lane that opens: whether messages are to be read one at a time, and which of them the lane was lost at.
   * @param marked in the ledger, for a message that is not admitted
   * @param barren owners in a row that committed nothing
   */
  reading(
    marked: Suspect | null,
    barren: number,
    isAdmitted: (suspect: Suspect) => boolean,
  ): { isCareful: boolean; suspect: Suspect | null } {
    if (this.#suspect !== null && isAdmitted(this.#suspect)) this.#suspect = null;
    const wasRefused = this.#wasRefused;
    this.#wasRefused = false;
    const excused = marked === null || !this.#isExplained ? marked : { ...marked, tries: marked.tries - 1 };
    const suspect = (this.#suspect?.tries ?? 0) >= (excused?.tries ?? 0) ? this.#suspect : excused;
    return { isCareful: suspect !== null || wasRefused || barren >= BARREN_MAX, suspect };
  }

  #triesOf({ offset, topic }: MessagePlace): number {
    const suspect = this.#suspect;
    return suspect?.topic === topic && suspect.offset === offset ? suspect.tries : 0;
  }
}

/** @param error of a transaction that did not go through */
export function lossOf(error: unknown): LaneLoss {
  if (error instanceof LostWithOthersError) return 'with-others';
  if (!(error instanceof TransactionFailedError)) return 'own-failure';
  return error.failure;
}

/** Whether what was to be committed is to blame, and would be again. */
export function wasRefused(error: unknown): boolean {
  return lossOf(error) === 'refused';
}
