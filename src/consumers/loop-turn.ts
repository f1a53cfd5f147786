/**
 * How long the inboxes of a process read messages in one turn of the event loop: all of them together, however many there
 * are. What is left is read in the next turn, so that timers, sockets and transactions have theirs.
 */
import type { Clock } from 'payment-processor-contract/clock';

/** Some hundred commands. */
const READING_MS_MAX = 10;

export class LoopTurn {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Null: nothing was read in this turn yet. */
  #readingSinceMs: number | null = null;
  #next = Promise.resolve();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Asked before each message. */
  isOver(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#readingSinceMs === null) {
      this.#readingSinceMs = nowMs;
      this.#next = new Promise((resolve) => {
        setImmediate(() => {
          this.#readingSinceMs = null;
          resolve();
        });
      });
    }
    return nowMs - this.#readingSinceMs >= READING_MS_MAX;
  }

  /** Resolves in the next turn. */
  next(): Promise<void> {
    return this.#next;
  }
}
