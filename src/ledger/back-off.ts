/** How long to wait before a call is retried if the service did not say. */

/** First wait: a passing fault is often over by then. */
const FIRST_WAIT_MS = 250;
/** The last try comes this long before the time limit, unless the service asked for a longer wait. */
const LAST_TRY_MS = 1_000;
/** Longest wait, before the factor (at most 1.5): we must notice a recovery within 30 s. */
export const LONGEST_WAIT_MS = 15_000;

/**
 * Exponential, times a factor from 0.5 to 1.5 that depends on the key, so that commands that failed together do not
 * retry together. The same arguments always give the same wait.
 * @param waits number of earlier waits
 */
export function backOffMs(key: string, waits: number, longestMs = LONGEST_WAIT_MS): number {
  const plainMs = Math.min(longestMs, FIRST_WAIT_MS * 2 ** Math.min(waits, 10));
  return Math.round(plainMs * (0.5 + spreadOf(key, waits)));
}

/**
 * When to retry a call or give it up: never later than its time limit, so that the publisher gets the result in time.
 * @param askedMs how long the service asked to wait
 */
export function tryAgainAtMs(
  { deadlineMs, key, waits }: { deadlineMs: number; key: string; waits: number },
  nowMs: number,
  askedMs = 0,
): number {
  const againMs = nowMs + Math.max(askedMs, backOffMs(key, waits));
  const lastTryMs = deadlineMs - LAST_TRY_MS;
  if (againMs <= lastTryMs) return againMs;
  const mayTry = lastTryMs > nowMs && nowMs + askedMs <= lastTryMs;
  return mayTry ? lastTryMs : Math.max(deadlineMs, nowMs);
}

/** From 0 to 1, FNV-1a over the key and the number of waits. */
function spreadOf(key: string, waits: number): number {
  let hash = 2166136261 ^ waits;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 16777619);
  return (hash >>> 0) / 0xffffffff;
}
