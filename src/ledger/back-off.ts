/** How long to wait before a call is tried again, when the service did not say. */

/** First wait: a passing fault is often over by then. */
const FIRST_WAIT_MS = 250;
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

/** From 0 to 1, FNV-1a over the key and the number of waits. */
function spreadOf(key: string, waits: number): number {
  let hash = 2166136261 ^ waits;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 16777619);
  return (hash >>> 0) / 0xffffffff;
}
