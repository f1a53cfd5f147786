/**
 * What the metrics count once a lane's transaction is committed. The answer to the commit says so, or the ledger does: where
 * the answer was lost, the lane is lost with it, and the transaction may be committed all the same.
 *
 *   handed over -> committed: counted, once
 *               -> not committed: another owner has committed since, or the lane was taken again and the ledger read past it
 */
import type { LaneTransaction } from './transaction.ts';

export class CommitReports {
  #handedOver: { readonly token: string; readonly commit: number; readonly reports: readonly (() => void)[] } | null =
    null;

  /**
   * @param token of the ownership that the transaction belongs to
   * @param reports may still grow
   */
  handOver(token: string, { commit, reports }: Pick<LaneTransaction, 'commit' | 'reports'>): void {
    this.#handedOver = { token, commit, reports };
  }

  /** Whether it is to be known of a commit if it is in the ledger. */
  isWaiting(): boolean {
    return this.#handedOver !== null;
  }

  /** An owner's commit is in the ledger. It may be said twice, and is said in the ledger's order. */
  committed(token: string, commit: number): void {
    const handedOver = this.#handedOver;
    if (handedOver === null || (handedOver.token === token && handedOver.commit !== commit)) return;
    this.#handedOver = null;
    if (handedOver.token === token) for (const report of handedOver.reports) report();
  }
}
