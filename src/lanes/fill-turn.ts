/**
 * How long lanes fill transactions in one turn of the event loop: all lanes of a process together, however many there are.
 * What is left is filled in a later turn, so that timers, sockets and the transaction under way have theirs.
 */
import type { Clock } from 'payment-processor-contract/clock';

/** Some hundred commands. */
const FILL_MS_MAX = 10;

export class FillTurn {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Null: nothing was filled in this turn yet. */
  #untilMs: number | null = null;
  #next = Promise.resolve();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * When the caller must have filled, on the monotonic clock.
   * @param callers that share what is left of the turn, the caller included
   */
  untilMs(callers: number): number {
    const nowMs = this.#clock.monotonicMs();
    if (this.#untilMs === null) {
      this.#untilMs = nowMs + FILL_MS_MAX;
      this.#next = new Promise((resolve) => {
        setImmediate(() => {
          this.#untilMs = null;
          resolve();
        });
      });
    }
    return nowMs + (this.#untilMs - nowMs) / callers;
  }

  /** Resolves in the next turn. */
  next(): Promise<void> {
    return this.#next;
  }
}

/** Of what is left, at least half remains for those that come after. */
export function halfwayMs(nowMs: number, untilMs: number): number {
  return nowMs + (untilMs - nowMs) / 2;
}
