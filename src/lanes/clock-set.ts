/**
 * Somebody sets the wall clock forward: by the clock that was behind, calls in doubt may have ended later than is known of
 * them. Their settling time is counted anew, as by a new owner of the lane.
 */
import type { Entry } from '../ledger/entry.ts';
import { takenUp } from '../ledger/wrong-clocks.ts';
import type { EntryParts } from './answers.ts';

/** By less a clock is only kept right. */
const SET_MS_MIN = 1_000;

export class ClockSet {
  readonly #parts: Pick<EntryParts, 'clock' | 'policy'>;
  readonly #unfinished: Map<string, Entry>;
  /** How far the wall clock is ahead of the monotonic one: the least since it was set. */
  #aheadMs: number;

  constructor(
    parts: Pick<EntryParts, 'clock' | 'policy'>,
    { unfinished }: { readonly unfinished: Map<string, Entry> },
  ) {
    this.#parts = parts;
    this.#unfinished = unfinished;
    this.#aheadMs = this.#ahead();
  }

  /** Before anything is decided by the clock. */
  look(): void {
    const aheadMs = this.#ahead();
    const wasSetForward = aheadMs - this.#aheadMs >= SET_MS_MIN;
    this.#aheadMs = wasSetForward ? aheadMs : Math.min(aheadMs, this.#aheadMs);
    if (!wasSetForward) return;
    const { clock, policy } = this.#parts;
    for (const [key, entry] of this.#unfinished) this.#unfinished.set(key, takenUp(entry, clock.nowMs(), policy));
  }

  #ahead(): number {
    const { clock } = this.#parts;
    return clock.nowMs() - clock.monotonicMs();
  }
}
