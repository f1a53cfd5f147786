/** Session, heartbeats and calls as in operation, where a stack's own are short for tests. */
export const SESSION_TIMEOUT_MS = 6_000;

export const USUAL_TIMES = {
  KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
  KAFKA_HEARTBEAT_INTERVAL_MS: '1000',
  API_TIMEOUT_MS: '10000',
  SETTLING_TIME_MS: '10000',
};
