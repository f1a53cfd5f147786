/**
 * Counts a lane's transaction for the metrics once it is committed. Normally the answer to the commit shows that. If
 * the answer is lost, the lane is lost too; the transaction may still be committed, and then only the ledger shows it.
 *
 *   handed over -> committed: counted, once
 *               -> not committed: another owner has committed since, or we retook the lane and read the ledger past it
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

  /** Whether a transaction waits for the ledger to show its commit. */
  isWaiting(): boolean {
    return this.#handedOver !== null;
  }

  /** An owner's commit is in the ledger. Commits come in the ledger's order; one may come twice. */
  committed(token: string, commit: number): void {
    const handedOver = this.#handedOver;
    if (handedOver === null || (handedOver.token === token && handedOver.commit !== commit)) return;
    this.#handedOver = null;
    if (handedOver.token === token) for (const report of handedOver.reports) report();
  }
}
