/** Time that passes only when everybody waits: a clock and its waits for code that takes them as arguments. */
import type { Clock } from '../../src/clock.ts';

interface Waiting {
  atMs: number;
  sequence: number;
  wake: () => void;
}

export class VirtualTime implements Clock {
  #nowMs: number;
  #sequence = 0;
  #waiting: Waiting[] = [];

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
    const waiting = { atMs: Math.max(atMs, this.#nowMs), sequence: (this.#sequence += 1), wake };
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(waiting, this.#waiting[middle]!)) high = middle;
      else low = middle + 1;
    }
    this.#waiting.splice(low, 0, waiting);
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.#nowMs + ms, resolve));
  }

  /** Lets time pass up to the instant, one wake after the other. */
  async runUntil(untilMs: number): Promise<void> {
    for (;;) {
      // Whatever can go on without time passing does so first.
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#waiting[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#waiting.shift();
      this.#nowMs = next.atMs;
      next.wake();
    }
    this.#nowMs = untilMs;
  }
}

function isBefore(left: Waiting, right: Waiting): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.sequence < right.sequence);
}
