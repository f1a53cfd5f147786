/**
 * How long the ledger took to be restored at the start of the process.
 *
 *   began -> awaited (where the lanes' parts of the ledger ended then) -> all of them reached: over
 *
 * What comes after is the tail, which is read all the time; a lane that is taken over later reads no more than that.
 */
import type { Clock } from 'payment-processor-contract/clock';

export interface RestoreStatus {
  readonly isUnderWay: boolean;
  /** So far, while it is under way. */
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

  /** Of the first, where it begins more than once. */
  began(): void {
    this.#beganMs ??= this.#clock.monotonicMs();
  }

  /** @param ends the offset after the last record, by lane */
  await(ends: ReadonlyMap<number, bigint>): void {
    this.#awaited = new Map(ends);
    this.#endedMs = null;
    for (const lane of ends.keys()) this.reached(lane, 0n);
  }

  /** Everything below the offset has been applied. */
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
