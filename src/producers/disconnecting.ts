/** Ends a client of Kafka within a time limit: kafkajs waits for requests that are under way, however long those take. */
import type { Consumer, Producer } from 'kafkajs';

/** Resolves when it has disconnected, a consumer having left its group, or after the limit; never rejects. */
export async function disconnectWithin(
  client: Pick<Consumer | Producer, 'disconnect'>,
  limitMs: number,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([client.disconnect().catch(() => undefined), limit]);
  clearTimeout(timer);
}
