/** Ends a client of Kafka within a time limit: kafkajs waits for requests that are under way, however long those take. */
import type { Consumer, Producer } from 'kafkajs';
import { settledWithin } from './settled-within.ts';

/** Resolves when it has disconnected, a consumer having left its group, or after the limit; never rejects. */
export async function disconnectWithin(
  client: Pick<Consumer | Producer, 'disconnect'>,
  limitMs: number,
): Promise<void> {
  await settledWithin(
    client.disconnect().catch(() => undefined),
    limitMs,
  );
}
