/** Ends a consumer within a time limit: kafkajs waits for requests that are under way, however long those take. */
import type { Consumer } from 'kafkajs';

/** Resolves when it has left its group and disconnected, or after the limit; never rejects. */
export async function disconnectWithin(consumer: Consumer, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([consumer.disconnect().catch(() => undefined), limit]);
  clearTimeout(timer);
}
