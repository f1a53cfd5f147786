/**
 * One use of kafkajs' admin client, from connecting to disconnecting.
 *
 * Right after a topic was made, or while a leader moves, single requests of the admin client fail though they would
 * succeed a moment later, and its view of the leaders stays stale: the whole use is repeated with a fresh client.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';

/** A leader is found within a few seconds; with the wait below about ten of them. */
const ATTEMPTS_MAX = 40;
const RETRY_WAIT_MS = 250;

/**
 * @param use may be run again: it must only ask, or come to the same
 * @throws the client's error, once no broker answers or trying again does not help
 */
export async function withAdmin<Value>(kafka: Kafka, use: (admin: Admin) => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    const admin = kafka.admin();
    // Connecting has retries of its own.
    await admin.connect();
    try {
      return await use(admin);
    } catch (error) {
      if (!isRetriable(error) || attempt >= ATTEMPTS_MAX) throw error;
    } finally {
      await admin.disconnect();
    }
    await delay(RETRY_WAIT_MS);
  }
}

/** kafkajs marks the errors that pass by themselves. */
function isRetriable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retriable' in error && error.retriable === true;
}
