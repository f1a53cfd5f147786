/** Keeps a member in its group while a record is handled, however long that takes; the caller bounds it. */

export interface Heartbeats {
  /** Ends them. @returns what the last one was answered, where that was an error: the member has to join again */
  stop(): unknown;
}

/**
 * @param heartbeat as kafkajs gives it to a handler: sends one if it is time, and throws what the coordinator says.
 *   A rebalance is such an answer; the coordinator waits for the member meanwhile, as long as heartbeats come
 */
export function startHeartbeats(heartbeat: () => Promise<void>, intervalMs: number): Heartbeats {
  let problem: unknown = null;
  let underWay = false;
  const timer = setInterval(() => {
    if (underWay) return;
    underWay = true;
    void heartbeat()
      .then(
        () => (problem = null),
        (error: unknown) => (problem = error),
      )
      .finally(() => (underWay = false));
  }, intervalMs);
  return {
    stop: () => {
      clearInterval(timer);
      return problem;
    },
  };
}
