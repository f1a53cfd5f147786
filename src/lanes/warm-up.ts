/**
 * Warms up before the process joins its group. A member that joins gets lanes of others at once. Without a warm-up, these lanes
 * would wait until their part of the ledger is read, a producer is open and connections are made.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { sleep } from '../consumers/signal.ts';

export interface WarmUp {
  /** Questions and connections that taking a lane needs. Failures do not matter here: taking a lane retries and reports them. */
  readonly tries: readonly Promise<unknown>[];
  /** The ledger has been read to where it ended at the start. */
  readonly isRead: () => boolean;
  /** Rejects if Kafka does not answer. */
  readonly isServedByOthers: () => Promise<boolean>;
  /** Kafka did not answer. */
  readonly onUnanswered: (error: unknown) => void;
  /** Whether the process is ending. */
  readonly isOver: () => boolean;
  readonly clock: Clock;
}

/** Interval between checks whether the ledger has been read. */
const STEP_MS = 100;
/** After this time the process joins anyway: the others may need help, and a process that never finishes must become visible. */
const READ_MS_MAX = 600_000;
/** Longer than healthy brokers need to answer. */
const TRIES_MS_MAX = 2_000;

/**
 * Resolves once the process is warm, or once nobody else serves the lanes: each lane then opens as soon as its part is read. If
 * the group does not answer, we assume that others serve the lanes. We could not join it then either.
 */
export async function warmedUp({
  clock,
  isOver,
  isRead,
  isServedByOthers,
  onUnanswered,
  tries,
}: WarmUp): Promise<void> {
  const tried = Promise.allSettled(tries);
  const untilMs = clock.monotonicMs() + READ_MS_MAX;
  const isCold = (): boolean => !isRead() && !isOver() && clock.monotonicMs() < untilMs;
  const mayBeServed = (): Promise<boolean> =>
    isServedByOthers().catch((error: unknown) => {
      onUnanswered(error);
      return true;
    });
  while (isCold() && (await mayBeServed())) await sleep(STEP_MS);
  await Promise.race([tried, sleep(TRIES_MS_MAX)]);
}
