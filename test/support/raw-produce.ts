/** Writes record batches to a partition's leader byte for byte. A refusal by the broker is returned with its error. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { verdictOf } from '../../src/producers/broker-verdicts.ts';
import { createCluster, type Cluster } from '../../src/producers/kafka-cluster.ts';
import { produceRequest, type WrittenCode } from '../../src/producers/transaction-requests.ts';

type Answer = { kind: 'taken'; baseOffset: bigint } | { kind: 'refused'; errorCode: number; message: string };

/** Repeated: it was sent more than once, so it may be written more than once. */
export type Produced = Answer & { isRepeated: boolean };

const TRIES_MAX = 20;
const RETRY_MS = 500;

export class RawProducer {
  readonly #kafka: Kafka;

  constructor(kafka: Kafka) {
    this.#kafka = kafka;
  }

  /** @throws when no broker answers in time */
  async produce(topic: string, partition: number, batch: Buffer): Promise<Produced> {
    for (let tries = 1; ; tries += 1) {
      // A broker may cut the connection over a batch.
      const cluster = createCluster(this.#kafka);
      try {
        const { errorCode, firstOffset } = await written(cluster, topic, partition, batch);
        const isRepeated = tries > 1;
        if (errorCode === 0) return { kind: 'taken', baseOffset: firstOffset, isRepeated };
        const verdict = verdictOf(errorCode);
        if (verdict.kind !== 'moved' || tries === TRIES_MAX)
          return { kind: 'refused', errorCode, message: 'name' in verdict ? verdict.name : verdict.kind, isRepeated };
      } catch (error) {
        if (tries === TRIES_MAX) throw error;
      } finally {
        await cluster.disconnect();
      }
      await delay(RETRY_MS);
    }
  }
}

async function written(cluster: Cluster, topic: string, partition: number, bytes: Buffer): Promise<WrittenCode> {
  await cluster.connect();
  await cluster.addMultipleTargetTopics([topic]);
  const leader = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition);
  if (leader === undefined) throw new Error(`${topic} has no partition ${partition}`);
  const { connectionPool } = await cluster.findBroker({ nodeId: leader.leader });
  const [answer] = await connectionPool.send(produceRequest(null, [{ topic, partition, bytes }]));
  if (answer === undefined) throw new Error('the answer has no partition');
  return answer;
}
