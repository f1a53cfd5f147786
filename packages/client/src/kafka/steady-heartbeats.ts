/** Keeps a member in its group while a record is handled. The caller limits the time. */

export interface Heartbeats {
  stop(): void;
}

/**
 * @param heartbeat kafkajs' heartbeat function: sends one if it is due, and throws the coordinator's errors, also a
 *   rebalance. The coordinator then waits for the member as long as heartbeats come
 */
export function startHeartbeats(heartbeat: () => Promise<void>, intervalMs: number): Heartbeats {
  let isUnderWay = false;
  const timer = setInterval(() => {
    if (isUnderWay) return;
    isUnderWay = true;
    void heartbeat()
      // The reader calls it again before the next record, and then acts on the error.
      .catch(() => undefined)
      .finally(() => (isUnderWay = false));
  }, intervalMs);
  return { stop: () => clearInterval(timer) };
}
