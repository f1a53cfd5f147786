/**
 * The calls that the poller may make: a bucket of tokens that fills evenly. Pure; the caller says what time it is.
 *
 * In no minute are more than the limit taken: a bucket of `capacity` tokens that fills at `rate` gives at most
 * capacity + 60 s x rate - 1 in any 60 seconds, and the rate is chosen so that this is the limit. It starts empty, for the
 * former owner of the lane may have emptied its own a moment ago.
 */

const MINUTE_MS = 60_000;
/** Share of a minute's calls that may be made at once; little, so that the calls left are spread over the minute. */
const BURST_SHARE = 1 / 24;

export class PollBudget {
  readonly #capacity: number;
  readonly #tokensPerMs: number;
  #tokens = 0;
  #filledMs: number;

  /** @param nowMs monotonic, as all times here */
  constructor(callsPerMinute: number, nowMs: number) {
    this.#capacity = Math.max(1, Math.floor(callsPerMinute * BURST_SHARE));
    this.#tokensPerMs = (callsPerMinute - this.#capacity + 1) / MINUTE_MS;
    this.#filledMs = nowMs;
  }

  /** Takes a token. @returns 0, or how long until there is one, in milliseconds */
  take(nowMs: number): number {
    this.#fill(nowMs);
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) / this.#tokensPerMs);
    this.#tokens -= 1;
    return 0;
  }

  /** Counts a call that does not wait, a look-up of doubt: the poller waits the longer. */
  spend(nowMs: number): void {
    this.#fill(nowMs);
    // A debt of a minute at most: the poller must not starve either.
    this.#tokens = Math.max(this.#tokens - 1, -this.#tokensPerMs * MINUTE_MS);
  }

  /** How long one call's token takes to come, in milliseconds. */
  callMs(): number {
    return 1 / this.#tokensPerMs;
  }

  #fill(nowMs: number): void {
    const grown = this.#tokens + Math.max(0, nowMs - this.#filledMs) * this.#tokensPerMs;
    this.#tokens = Math.min(this.#capacity, grown);
    this.#filledMs = nowMs;
  }
}
