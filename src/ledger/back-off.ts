/** How long to wait before a call is tried again, when the service did not say. */

/** First wait: a passing fault is often over by then. */
const FIRST_WAIT_MS = 250;
/** So long before its time limit a call is tried once more, where the wait would pass the limit. */
const LAST_TRY_MS = 1_000;
/** Longest wait: recovery is to be seen within 30 s of a fault's end. */
const LONGEST_WAIT_MS = 15_000;

/**
 * Exponential with a spread of a half to one and a half, by the key: commands that failed together do not come back
 * together, and the same entry decides the same again.
 * @param waits how often it was waited before
 */
export function backOffMs(key: string, waits: number): number {
  const plainMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(waits, 10));
  return Math.round(plainMs * (0.5 + spreadOf(key, waits)));
}

/**
 * When a call is tried again, or given up: never later than its time limit, so that the publisher is told in time.
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
