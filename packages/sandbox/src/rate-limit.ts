/** A token bucket that holds one second's worth of requests. */

export class RateLimit {
  #tokens = 0;
  #filledAtMs = -Infinity;
  #perSecond = 0;

  /** Milliseconds until a request is allowed; 0 if this one is. */
  waitMs(nowMs: number, perSecond: number | null): number {
    if (perSecond === null) return 0;
    if (perSecond !== this.#perSecond) {
      this.#perSecond = perSecond;
      this.#filledAtMs = -Infinity;
    }
    // Below one request a second the bucket must still hold one token.
    const capacity = Math.max(perSecond, 1);
    this.#tokens = Math.min(capacity, this.#tokens + ((nowMs - this.#filledAtMs) * perSecond) / 1000);
    this.#filledAtMs = nowMs;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return 0;
    }
    return ((1 - this.#tokens) * 1000) / perSecond;
  }
}
