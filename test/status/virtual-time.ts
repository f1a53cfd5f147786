/** Time that passes only when everybody waits: a clock and its waits for code that takes them as arguments. */
import { TimeQueue } from '../../proofs/simulation/time-queue.ts';
import type { Clock } from 'payment-processor-contract/clock';

export class VirtualTime implements Clock {
  #nowMs: number;
  readonly #waiting = new TimeQueue<() => void>();

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  at(atMs: number, wake: () => void): void {
    this.#waiting.put(Math.max(atMs, this.#nowMs), wake);
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.#nowMs + ms, resolve));
  }

  /** Lets time pass up to the instant, one wake after the other. */
  async runUntil(untilMs: number): Promise<void> {
    for (;;) {
      // Whatever can go on without time passing does so first.
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#waiting.take(untilMs);
      if (next === null) break;
      this.#nowMs = next.atMs;
      next.item();
    }
    this.#nowMs = untilMs;
  }
}
