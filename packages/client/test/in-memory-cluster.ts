/**
 * Two brokers and a topic of two partitions, led by broker 1 and broker 2, behind the interface through which kafkajs' producer
 * sees a cluster. Brokers check sequences as Kafka does, and recognise a batch that they already hold.
 */
import { createRequire } from 'node:module';

export const TOPIC = 'payments';

const PRODUCER_ID = '4001';
const LEADERS = [1, 2];

interface ProducedPartition {
  partition: number;
  firstSequence: number;
  messages: { value: string }[];
}

export interface ProduceRequest {
  producerId: string | number;
  topicData: { topic: string; partitions: ProducedPartition[] }[];
}

interface PartitionAnswer {
  partition: number;
  errorCode: number;
  baseOffset: string;
}

interface ProduceAnswer {
  topics: { topicName: string; partitions: PartitionAnswer[] }[];
}

interface InMemoryBroker {
  readonly nodeId: number;
  initProducerId(): Promise<{ producerId: string; producerEpoch: number }>;
  produce(request: ProduceRequest): Promise<ProduceAnswer>;
}

// Kafka's error codes.
const NONE = 0;
const OUT_OF_ORDER_SEQUENCE_NUMBER = 45;

// The library's reading of an answer decides what a refusal looks like to the sender.
const require = createRequire(import.meta.url);
const { parse } = require('kafkajs/src/protocol/requests/produce/v7/response') as {
  parse: (answer: ProduceAnswer) => Promise<ProduceAnswer>;
};

export class InMemoryCluster {
  readonly targetTopics = new Set([TOPIC]);
  readonly retry = {};
  private readonly brokers = LEADERS.map((nodeId) => this.brokerAt(nodeId));
  private readonly logs: string[][] = LEADERS.map(() => []);

  /** The values written to a partition. */
  log(partition: number): string[] {
    return this.logs[partition] ?? [];
  }

  async addMultipleTargetTopics(): Promise<void> {
    // The one topic is known.
  }

  async refreshMetadataIfNecessary(): Promise<void> {
    // The metadata is young.
  }

  async refreshMetadata(): Promise<void> {
    // Leaders do not move.
  }

  isConnected(): boolean {
    return true;
  }

  findTopicPartitionMetadata(): { partitionId: number; leader: number }[] {
    return LEADERS.map((leader, partitionId) => ({ partitionId, leader }));
  }

  findLeaderForPartitions(_topic: string, partitions: (string | number)[]): Partial<Record<string, number[]>> {
    return Object.groupBy(
      partitions.map(Number).filter((partition) => partition in LEADERS),
      (partition) => String(LEADERS[partition]),
    );
  }

  async findBroker({ nodeId }: { nodeId: string | number }): Promise<InMemoryBroker> {
    const broker = this.brokers.find((candidate) => candidate.nodeId === Number(nodeId));
    if (broker === undefined) throw new Error(`There is no broker ${nodeId}`);
    return broker;
  }

  async findControllerBroker(): Promise<InMemoryBroker> {
    return this.findBroker({ nodeId: 1 });
  }

  private brokerAt(nodeId: number): InMemoryBroker {
    return {
      nodeId,
      initProducerId: async () => ({ producerId: PRODUCER_ID, producerEpoch: 0 }),
      produce: async ({ topicData }) =>
        parse({
          topics: topicData.map(({ topic, partitions }) => ({
            topicName: topic,
            partitions: partitions.map((batch) => this.write(batch)),
          })),
        }),
    };
  }

  private write({ firstSequence, messages, partition }: ProducedPartition): PartitionAnswer {
    const log = this.log(partition);
    // One producer writes each partition from its beginning, so that the next sequence is the log's length.
    if (firstSequence > log.length) return { partition, errorCode: OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: '-1' };
    const baseOffset = String(firstSequence);
    if (firstSequence === log.length) log.push(...messages.map(({ value }) => value));
    return { partition, errorCode: NONE, baseOffset };
  }
}
