/**
 * One use of kafkajs' admin client, from connecting to disconnecting.
 *
 * Right after a topic is created, or while a leader moves, requests of the admin client fail although they would
 * succeed a moment later. Its view of the leaders stays stale, so we repeat the whole use with a fresh client.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';

/** A leader is found within a few seconds; with the pause below, this allows about ten. */
const ATTEMPTS_MAX = 40;
const RETRY_WAIT_MS = 250;

/**
 * @param use may run again: it must be read-only or idempotent
 * @throws the client's error, if no broker answers or a retry does not help
 */
export async function withAdmin<Value>(kafka: Kafka, use: (admin: Admin) => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    const admin = kafka.admin();
    // connect() retries by itself.
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

/** kafkajs marks errors that a retry may solve. */
function isRetriable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retriable' in error && error.retriable === true;
}
