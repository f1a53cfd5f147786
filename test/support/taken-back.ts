/** A publisher that aborts its transaction: readers are held up behind it, and then get none of its messages. */
import type { Kafka } from 'kafkajs';
import { createCluster } from '../../src/producers/kafka-cluster.ts';
import { ProducerSession } from '../../src/producers/producer-session.ts';
import { encodeBatches } from '../../src/producers/record-batch.ts';

/** Longer than any test leaves it open. */
const TRANSACTION_TIMEOUT_MS = 60_000;

/** Writes one message to each partition. @returns a function that aborts the transaction */
export async function writtenToTakeBack(
  kafka: Kafka,
  transactionalId: string,
  topic: string,
  partitions: readonly number[],
): Promise<() => Promise<void>> {
  const session = new ProducerSession(createCluster(kafka), {
    transactionalId,
    transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
    compressedTopics: new Set(),
  });
  await session.connect();
  await session.initialise();
  const value = Buffer.from('{}');
  const batches = encodeBatches(
    partitions.map((partition) => ({ topic, partition, key: 'taken-back', value, headers: {} })),
  );
  await session.register(batches);
  await session.write(batches);
  return async () => {
    await session.end(false);
    await session.close();
  };
}
