/**
 * Handles a wall clock that is set forward. While it was slow, calls in doubt may have ended later than it said. So their settling
 * time starts again, as with a new owner of the lane.
 */
import { aheadMsOf, SET_MS_MIN } from 'payment-processor-contract/clock';
import type { Entry } from '../ledger/entry.ts';
import { takenUp } from '../ledger/wrong-clocks.ts';
import type { EntryParts } from './answers.ts';

export class ClockSet {
  readonly #parts: Pick<EntryParts, 'clock' | 'policy'>;
  readonly #unfinished: Map<string, Entry>;
  /** How far the wall clock is ahead of the monotonic one: the minimum since it was last set forward. */
  #aheadMs: number;

  constructor(
    parts: Pick<EntryParts, 'clock' | 'policy'>,
    { unfinished }: { readonly unfinished: Map<string, Entry> },
  ) {
    this.#parts = parts;
    this.#unfinished = unfinished;
    this.#aheadMs = aheadMsOf(parts.clock);
  }

  /** Call this before any decision that uses the clock. */
  look(): void {
    const aheadMs = aheadMsOf(this.#parts.clock);
    const wasSetForward = aheadMs - this.#aheadMs >= SET_MS_MIN;
    this.#aheadMs = wasSetForward ? aheadMs : Math.min(aheadMs, this.#aheadMs);
    if (!wasSetForward) return;
    const { clock, policy } = this.#parts;
    for (const [key, entry] of this.#unfinished) this.#unfinished.set(key, takenUp(entry, clock.nowMs(), policy));
  }
}
