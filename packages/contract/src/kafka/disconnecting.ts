/** Closes a Kafka client within a time limit: kafkajs itself waits for pending requests without limit. */
import type { Consumer, Producer } from 'kafkajs';
import { settledWithin } from '../settled-within.ts';

/** Resolves when the client has disconnected (a consumer also leaves its group), or after the limit; never rejects. */
export async function disconnectWithin(
  client: Pick<Consumer | Producer, 'disconnect'>,
  limitMs: number,
): Promise<void> {
  await settledWithin(
    client.disconnect().catch(() => undefined),
    limitMs,
  );
}
