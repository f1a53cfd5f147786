/**
 * Records that a component outside the lane submits for its next commit. They are fenced like the lane's own.
 *
 *   waiting   until the lane makes its next transaction
 *   taken     in that transaction; settled with it
 *
 * Each promise resolves when its records are committed, and rejects when that is not certain: the lane was lost or
 * released, or too many submissions wait. Owned by the open lane.
 */
import type { OutgoingRecord } from '../../producers/record-batch.ts';
import type { LaneTransaction } from './transaction.ts';

interface Submission {
  readonly records: readonly OutgoingRecord[];
  readonly settle: { resolve: () => void; reject: (error: Error) => void };
}

/** A submitter awaits each commit, so more at once than this is a bug. */
const WAITING_MAX = 32;

/** The lane is not open, was lost or released before the commit was certain, or has too many submissions. */
export class SubmissionError extends Error {}

export class Submissions {
  #waiting: Submission[] = [];
  #taken: Submission[] = [];

  add(records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX)
      return Promise.reject(new SubmissionError('too many records of the poller wait for the next commit: a bug'));
    return new Promise((resolve, reject) => this.#waiting.push({ records, settle: { resolve, reject } }));
  }

  takeInto(transaction: LaneTransaction): void {
    while (!transaction.isFull()) {
      const submission = this.#waiting.shift();
      if (submission === undefined) return;
      transaction.add(...submission.records);
      transaction.unitDone();
      this.#taken.push(submission);
    }
  }

  /** The transaction that took them is committed. */
  committed(): void {
    for (const { settle } of this.#taken.splice(0)) settle.resolve();
  }

  reject(reason: string): void {
    const error = new SubmissionError(reason);
    for (const { settle } of [...this.#taken.splice(0), ...this.#waiting.splice(0)]) settle.reject(error);
  }
}
