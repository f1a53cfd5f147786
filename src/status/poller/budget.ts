/**
 * The calls that the poller may make: a token bucket that fills evenly. Pure: the caller passes the time.
 *
 * No minute has more of the poller's own calls than the limit. A bucket of `capacity` tokens that fills at `rate`
 * allows at most capacity + 60 s x rate - 1 calls in 60 seconds. The rate is chosen so that this equals the limit. The
 * bucket starts empty, because the lane's previous owner may have emptied its own a moment ago.
 */

const MINUTE_MS = 60_000;
/** Share of a minute's calls that may come at once: small, so that the others are spread over the minute. */
const BURST_SHARE = 1 / 24;

export class PollBudget {
  readonly #capacity: number;
  readonly #tokensPerMs: number;
  #tokens = 0;
  /** Tokens that look-ups used and the bucket has not gained back; at most those of a minute. */
  #debt = 0;
  #filledMs: number;

  /** @param nowMs monotonic, as all times here */
  constructor(callsPerMinute: number, nowMs: number) {
    this.#capacity = Math.max(1, Math.floor(callsPerMinute * BURST_SHARE));
    this.#tokensPerMs = (callsPerMinute - this.#capacity + 1) / MINUTE_MS;
    this.#filledMs = nowMs;
  }

  /** Takes a token if there is one. @returns 0, or how long until there may be one, in milliseconds */
  take(nowMs: number): number {
    this.#fill(nowMs);
    const missing = 1 - this.#tokens;
    if (missing > 0) return Math.ceil((missing + Math.min(missing, this.#debt)) / this.#tokensPerMs);
    this.#tokens -= 1;
    return 0;
  }

  /** Counts a call that does not wait, such as a look-up for a call in doubt: the poller then waits longer. */
  spend(nowMs: number): void {
    this.#fill(nowMs);
    this.#debt = Math.min(this.#debt + 1, this.#tokensPerMs * MINUTE_MS);
  }

  /** How long the bucket takes to gain one token, in milliseconds. */
  callMs(): number {
    return 1 / this.#tokensPerMs;
  }

  #fill(nowMs: number): void {
    const gained = Math.max(0, nowMs - this.#filledMs) * this.#tokensPerMs;
    const surplus = this.#tokens + gained - this.#capacity;
    // At most half of what the poller could use, however many look-ups there are: the poller must not starve.
    const repaid = Math.min(this.#debt, Math.max(gained / 2, surplus));
    this.#debt -= repaid;
    this.#tokens = Math.min(this.#capacity, this.#tokens + gained - repaid);
    this.#filledMs = nowMs;
  }
}
