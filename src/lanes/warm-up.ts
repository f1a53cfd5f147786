/**
 * What a process does before it joins a group: whoever joins is given lanes of others at once, and those would wait here until
 * their part of the ledger has been read, a producer opened and connections made.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { sleep } from '../consumers/signal.ts';

export interface WarmUp {
  /** What taking a lane asks and opens. What of it fails is tried again, and told, when a lane is taken. */
  readonly tries: readonly Promise<unknown>[];
  /** The ledger has been read to where it ended at the start. */
  readonly isRead: () => boolean;
  /** Rejects where Kafka cannot be asked. */
  readonly isServedByOthers: () => Promise<boolean>;
  /** That it could not. */
  readonly onUnanswered: (error: unknown) => void;
  /** The process ends. */
  readonly isOver: () => boolean;
  readonly clock: Clock;
}

/** Between looks at how far the ledger has been read. */
const STEP_MS = 100;
/** The others may need help: of a process that never gets there the group must know in the end. */
const READ_MS_MAX = 600_000;
/** Longer than brokers that answer need. */
const TRIES_MS_MAX = 2_000;

/**
 * Resolves once the process is warm, or nobody else serves the lanes: then they are opened as their parts are read. Who cannot
 * be asked about may well serve them, and a group that does not answer cannot be joined either.
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
