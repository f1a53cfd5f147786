/**
 * Measures how long the process takes to restore the ledger at its start.
 *
 *   began -> awaited (the ends of all lanes' parts of the ledger at that time) -> all ends reached: over
 *
 * Later records are the tail, which the process reads continuously. Taking a lane over later reads only that tail.
 */
import type { Clock } from 'payment-processor-contract/clock';

export interface RestoreStatus {
  readonly isUnderWay: boolean;
  /** During the restore: the time so far. */
  readonly seconds: number;
}

export class LedgerRestore {
  readonly #clock: Clock;
  #beganMs: number | null = null;
  #endedMs: number | null = null;
  #awaited: Map<number, bigint> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Only the first call counts: opening the ledger may be retried. */
  began(): void {
    this.#beganMs ??= this.#clock.monotonicMs();
  }

  /** @param ends the offset after the last record, by lane */
  await(ends: ReadonlyMap<number, bigint>): void {
    this.#awaited = new Map(ends);
    this.#endedMs = null;
    for (const lane of ends.keys()) this.reached(lane, 0n);
  }

  /** Everything before the offset has been applied. */
  reached(lane: number, offset: bigint): void {
    const endOffset = this.#awaited?.get(lane);
    if (endOffset !== undefined && offset >= endOffset) this.#awaited?.delete(lane);
    if (this.#awaited?.size === 0) this.#endedMs ??= this.#clock.monotonicMs();
  }

  /** Null before it began. */
  status(): RestoreStatus | null {
    if (this.#beganMs === null) return null;
    const untilMs = this.#endedMs ?? this.#clock.monotonicMs();
    return { isUnderWay: this.#endedMs === null, seconds: (untilMs - this.#beganMs) / 1000 };
  }
}
