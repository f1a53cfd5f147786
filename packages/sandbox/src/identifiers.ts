/**
 * Identifiers: UUIDs of version 7 with a counter after the time. They sort by creation even within one millisecond, because
 * the list uses them as its tie-break.
 */
import { randomBytes } from 'node:crypto';

const COUNTER_BITS = 32n;

export class Identifiers {
  #counter = 0n;
  /** Random bytes are drawn in bulk: one call each would cost more than the rest of a transfer-in. */
  #random = Buffer.alloc(0);

  /** A new id with its resource prefix, such as `Transaction:019b...`. */
  next(prefix: 'Transaction' | 'Quote', nowMs: number): string {
    const counter = BigInt.asUintN(Number(COUNTER_BITS), this.#counter++).toString(16).padStart(8, '0');
    const time = nowMs.toString(16).padStart(12, '0');
    const random = this.#randomHex();
    return `${prefix}:${time.slice(0, 8)}-${time.slice(8)}-7${counter.slice(0, 3)}-8${counter.slice(3, 6)}-${counter.slice(6)}${random}`;
  }

  #randomHex(): string {
    if (this.#random.length < 5) this.#random = randomBytes(5 * 200);
    const text = this.#random.toString('hex', 0, 5);
    this.#random = this.#random.subarray(5);
    return text;
  }
}
