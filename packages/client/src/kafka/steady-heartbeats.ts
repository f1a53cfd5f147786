/** Keeps a member in its group while a record is handled. The caller limits the time. */

export interface Heartbeats {
  stop(): void;
}

/**
 * @param heartbeat kafkajs' function: sends a heartbeat if one is due, and throws the coordinator's errors, including a
 *   rebalance. The coordinator then waits for the member while heartbeats arrive
 */
export function startHeartbeats(heartbeat: () => Promise<void>, intervalMs: number): Heartbeats {
  let isSending = false;
  const timer = setInterval(() => {
    if (isSending) return;
    isSending = true;
    void heartbeat()
      // The reader calls it again before the next record, and then acts on the error.
      .catch(() => undefined)
      .finally(() => (isSending = false));
  }, intervalMs);
  return { stop: () => clearInterval(timer) };
}
