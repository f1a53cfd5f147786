/**
 * Classifies why a lane was lost, counts its recent losses, and decides whether a message is to blame. It lives as long
 * as the process, however often the lane is lost and retaken. No clock, no I/O. Owned by the lane.
 */
import type { Suspect } from '../../ledger/ledger-records.ts';
import { TransactionFailedError } from '../../producers/transactional-producer.ts';

export const LANE_LOSSES = [
  /** Another process has fenced this one's producer, or the broker has aborted its transaction. */
  'fenced',
  /** It is not certain that the last transaction was committed. */
  'not-committed',
  /** The broker refuses what the lane would commit, and will go on doing so: a batch is too large, or a record is wrong. */
  'refused',
  /** The process's producer failed at the commit of another lane, or of several. */
  'with-others',
  /** The group had expelled this process: another may have owned the lane. */
  'counted-out',
  /** An attempt to acquire it failed; the lane tries again. */
  'not-acquired',
  /** Our own code failed: a bug. */
  'own-failure',
] as const;
export type LaneLoss = (typeof LANE_LOSSES)[number];

/** Losses less than this apart are counted together. */
const TROUBLE_MS = 60_000;
/** A commit that fails this soon after the previous failure probably has the same cause. */
const SAME_CAUSE_MS = 10_000;
/**
 * Up to this many failed commits in a row may be chance. More have a lasting cause, such as a revoked authorization.
 */
const CHANCE_FAILURES_MAX = 3;
const RETAKE_MS_MIN = 300;
const RETAKE_MS_MAX = 5_000;
/** Owners in a row that committed nothing, after which the lane is read carefully. */
const OWNERS_WITHOUT_COMMIT_MAX = 2;

/** Losses that follow each other. */
export interface Trouble {
  readonly losses: number;
  readonly sinceMs: number;
  readonly lastMs: number;
  /** Of the last loss. */
  readonly reason: LaneLoss;
  readonly message: string;
}

/** Where a message is in its lane. */
export interface MessagePlace {
  readonly topic: string;
  readonly offset: bigint;
}

/** The process's producer failed at another lane's commit, or at one of several lanes: this lane may not be the cause. */
export class LostWithOthersError extends Error {}

export class Troubles {
  #trouble: Trouble | null = null;
  /** The broker refused something since the lane was last opened. */
  #wasRefused = false;
  #suspect: Suspect | null = null;
  /** Something other than a message caused the last loss, so it does not count as a try. */
  #isExplained = false;
  /** Failed commits, each soon after the previous one. */
  #failedInRow = 0;

  /** @param soleMessage the only message of the transaction that was not committed; null if it had several, or none */
  lost(loss: { reason: LaneLoss; message: string; nowMs: number }, soleMessage: MessagePlace | null): void {
    const { message, nowMs, reason } = loss;
    const last = this.now(nowMs);
    // A refused message is set aside soon; a refused entry is refused again for as long as Kafka is not changed.
    const isMessage = reason === 'refused' && soleMessage !== null;
    if (last === null || nowMs - last.lastMs >= SAME_CAUSE_MS || isMessage) this.#failedInRow = 0;
    if (reason === 'not-committed' || (reason === 'refused' && !isMessage)) this.#failedInRow += 1;
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

  /** Recent losses; null: none for a while. */
  now(nowMs: number): Trouble | null {
    return this.#trouble !== null && nowMs - this.#trouble.lastMs < TROUBLE_MS ? this.#trouble : null;
  }

  /** How long to wait before the lane is taken again. 0, unless its commits fail for a lasting cause. */
  retakeMs(): number {
    const lasting = this.#failedInRow - CHANCE_FAILURES_MAX;
    return lasting <= 0 ? 0 : Math.min(RETAKE_MS_MIN * 2 ** (lasting - 1), RETAKE_MS_MAX);
  }

  /**
   * For a lane that opens: whether to read messages one at a time, and at which message the lane was lost.
   * @param marked the ledger's mark, if its message is not admitted yet
   * @param withoutCommit owners in a row that committed nothing
   */
  reading(
    marked: Suspect | null,
    withoutCommit: number,
    isAdmitted: (suspect: Suspect) => boolean,
  ): { isCareful: boolean; suspect: Suspect | null } {
    if (this.#suspect !== null && isAdmitted(this.#suspect)) this.#suspect = null;
    const wasRefused = this.#wasRefused;
    this.#wasRefused = false;
    const counted = marked === null || !this.#isExplained ? marked : { ...marked, tries: marked.tries - 1 };
    const suspect = (this.#suspect?.tries ?? 0) >= (counted?.tries ?? 0) ? this.#suspect : counted;
    return { isCareful: suspect !== null || wasRefused || withoutCommit >= OWNERS_WITHOUT_COMMIT_MAX, suspect };
  }

  #triesOf({ offset, topic }: MessagePlace): number {
    const suspect = this.#suspect;
    return suspect?.topic === topic && suspect.offset === offset ? suspect.tries : 0;
  }
}

/** @param error of a failed transaction */
export function lossOf(error: unknown): LaneLoss {
  if (error instanceof LostWithOthersError) return 'with-others';
  if (!(error instanceof TransactionFailedError)) return 'own-failure';
  return error.failure;
}

/** Whether the records of the commit are to blame, and would fail again. */
export function wasRefused(error: unknown): boolean {
  return lossOf(error) === 'refused';
}
