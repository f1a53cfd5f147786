/**
 * Notices a wall clock that is wrong, or was set while the lane is open. Commits show the brokers' time, and the
 * monotonic clock says how much has passed since. So the age of an idempotency key is never counted by our wall clock
 * alone.
 */
import { aheadMsOf, SET_MS_MIN } from 'payment-processor-contract/clock';
import type { Entry } from '../ledger/entry.ts';
import { sentEarlier, takenUp } from '../ledger/wrong-clocks.ts';
import type { LaneParts } from './parts.ts';

type ClockParts = Pick<LaneParts, 'clock' | 'index' | 'lane' | 'policy'>;

export class LaneClock {
  readonly #parts: ClockParts;
  readonly #unfinished: Map<string, Entry>;
  /** Smallest difference (wall clock minus monotonic clock) since the wall clock was last set forward. */
  #aheadMs: number;
  /** How far the brokers' clock is ahead of the monotonic one, at least. */
  #brokersAheadMs = -Infinity;
  /** How far the wall clock was behind the brokers' when the ages of keys were last corrected. */
  #behindMs: number;

  /** Call this once the owner record of the lane has been written. */
  constructor(parts: ClockParts, { unfinished }: { readonly unfinished: Map<string, Entry> }) {
    this.#parts = parts;
    this.#unfinished = unfinished;
    this.#aheadMs = aheadMsOf(parts.clock);
    this.#behindMs = this.behindMs();
  }

  /** Call this before any decision that uses the clock. */
  look(): void {
    const { clock, policy } = this.#parts;
    const aheadMs = aheadMsOf(clock);
    const wasSetForward = aheadMs - this.#aheadMs >= SET_MS_MIN;
    this.#aheadMs = wasSetForward ? aheadMs : Math.min(aheadMs, this.#aheadMs);
    const behindMs = this.behindMs();
    const fellBackMs = behindMs - this.#behindMs;
    if (fellBackMs >= SET_MS_MIN || behindMs < this.#behindMs) this.#behindMs = behindMs;
    // While the clock was slow, calls in doubt may have ended later than it said: their settling time starts again.
    if (wasSetForward) this.#correct((entry) => takenUp(entry, clock.nowMs(), policy));
    // A clock that was set back makes keys look younger than they are: the service may have forgotten them.
    if (fellBackMs >= SET_MS_MIN) this.#correct((entry) => sentEarlier(entry, fellBackMs, policy));
  }

  /** How far the wall clock is behind the brokers' now; 0: it is not. */
  behindMs(): number {
    return Math.max(0, this.#brokersMs() - this.#parts.clock.nowMs());
  }

  /** A call that begins now is sent at this instant or later, by our wall clock and by the brokers'. */
  notBeforeMs(): number {
    return Math.min(this.#parts.clock.nowMs(), this.#brokersMs());
  }

  /** By the brokers' clock it is this time, or later. */
  #brokersMs(): number {
    const { clock, index, lane } = this.#parts;
    const writtenMs = index.checkpoint(lane).timestampMs;
    this.#brokersAheadMs = Math.max(this.#brokersAheadMs, writtenMs - clock.monotonicMs());
    // The monotonic clock has fractions of a millisecond; Kafka refuses them in a timestamp.
    return Math.floor(clock.monotonicMs() + this.#brokersAheadMs);
  }

  #correct(corrected: (entry: Entry) => Entry): void {
    for (const [key, entry] of this.#unfinished) this.#unfinished.set(key, corrected(entry));
  }
}
