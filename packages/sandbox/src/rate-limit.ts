/** A token bucket that holds one second's worth of requests. */

export class RateLimit {
  #tokens = 0;
  #filledAtMs = -Infinity;
  #perSecond = 0;

  /** Milliseconds until a request may come, 0 if this one may pass. */
  waitMs(nowMs: number, perSecond: number | null): number {
    if (perSecond === null) return 0;
    if (perSecond !== this.#perSecond) {
      this.#perSecond = perSecond;
      this.#filledAtMs = -Infinity;
    }
    // A bucket for less than one request a second must still hold one.
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
