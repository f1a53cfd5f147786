/** Keeps a member in its group while a record is handled, however long that takes; the caller bounds it. */

export interface Heartbeats {
  stop(): void;
}

/**
 * @param heartbeat as kafkajs gives it to a handler: sends one if it is time, and throws what the coordinator says. A
 *   rebalance is such an answer; the coordinator waits for the member meanwhile, as long as heartbeats come
 */
export function startHeartbeats(heartbeat: () => Promise<void>, intervalMs: number): Heartbeats {
  let isUnderWay = false;
  const timer = setInterval(() => {
    if (isUnderWay) return;
    isUnderWay = true;
    void heartbeat()
      // The reader asks again before the next record, and then has to act on it.
      .catch(() => undefined)
      .finally(() => (isUnderWay = false));
  }, intervalMs);
  return { stop: () => clearInterval(timer) };
}
