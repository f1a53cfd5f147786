/**
 * Two brokers and a topic of two partitions, led by broker 1 and broker 2.
 *
 * The leaders really in charge and those that the metadata tells are kept apart: they differ from a move until the
 * metadata is refreshed. Brokers check sequences as Kafka does, and recognise a batch that they already hold.
 */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

export const TOPIC = 'payments';

/** Long enough for a sender that does not wait to try again first; one that waits passes whatever it is. */
const LATE_MS = 50;

const PRODUCER_ID = '4001';

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

// Kafka's error codes.
const NONE = 0;
const NOT_LEADER_FOR_PARTITION = 6;
const OUT_OF_ORDER_SEQUENCE_NUMBER = 45;

// The library's reading of an answer decides what a partial refusal looks like to the sender.
const require = createRequire(import.meta.url);
const { parse } = require('kafkajs/src/protocol/requests/produce/v7/response') as {
  parse: (answer: ProduceAnswer) => Promise<ProduceAnswer>;
};

export class InMemoryCluster {
  readonly targetTopics = new Set([TOPIC]);
  readonly retry = {};
  private readonly brokers = new Map([1, 2].map((nodeId) => [nodeId, new InMemoryBroker(nodeId, this)]));
  private readonly leaders = [1, 2];
  private knownLeaders = [1, 2];
  private readonly logs: string[][] = [[], []];
  private readonly leftOut = new Set<number>();

  moveLeader(partition: number, nodeId: number): void {
    this.leaders[partition] = nodeId;
  }

  /** The broker writes at once and answers when others have long answered. */
  answerLate(nodeId: number): void {
    this.broker(nodeId).answersLate = true;
  }

  /** A broker that writes the partition and does not say so. */
  leaveOutOfAnswers(partition: number): void {
    this.leftOut.add(partition);
  }

  /** The values written to a partition, wherever its leader was. */
  log(partition: number): string[] {
    return this.logs[partition] ?? [];
  }

  write(nodeId: number, producerId: string | number, batch: ProducedPartition): PartitionAnswer | null {
    const { partition, firstSequence, messages } = batch;
    if (this.leaders[partition] !== nodeId) return { partition, errorCode: NOT_LEADER_FOR_PARTITION, baseOffset: '-1' };
    const log = this.log(partition);
    // One producer writes each partition from its beginning, so that the next sequence is the log's length.
    if (producerId === PRODUCER_ID && firstSequence > log.length) {
      return { partition, errorCode: OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: '-1' };
    }
    const isKnownBatch = producerId === PRODUCER_ID && firstSequence < log.length;
    const baseOffset = isKnownBatch ? firstSequence : log.length;
    if (!isKnownBatch) log.push(...messages.map(({ value }) => value));
    return this.leftOut.has(partition) ? null : { partition, errorCode: NONE, baseOffset: String(baseOffset) };
  }

  // What the sender and the transaction manager ask a cluster for:

  async addMultipleTargetTopics(): Promise<void> {
    // The one topic is known.
  }

  async refreshMetadataIfNecessary(): Promise<void> {
    // The metadata is young.
  }

  async refreshMetadata(): Promise<void> {
    this.knownLeaders = [...this.leaders];
  }

  isConnected(): boolean {
    return true;
  }

  findTopicPartitionMetadata(): { partitionId: number; leader: number }[] {
    return this.knownLeaders.map((leader, partitionId) => ({ partitionId, leader }));
  }

  findLeaderForPartitions(_topic: string, partitions: (string | number)[]): Partial<Record<string, number[]>> {
    const perLeader: Partial<Record<string, number[]>> = {};
    for (const partition of partitions.map(Number)) {
      const leader = this.knownLeaders[partition];
      if (leader !== undefined) (perLeader[leader] ??= []).push(partition);
    }
    return perLeader;
  }

  async findBroker({ nodeId }: { nodeId: string | number }): Promise<InMemoryBroker> {
    return this.broker(Number(nodeId));
  }

  async findControllerBroker(): Promise<InMemoryBroker> {
    return this.broker(1);
  }

  private broker(nodeId: number): InMemoryBroker {
    const broker = this.brokers.get(nodeId);
    if (broker === undefined) throw new Error(`There is no broker ${nodeId}`);
    return broker;
  }
}

class InMemoryBroker {
  readonly nodeId: number;
  answersLate = false;
  private readonly cluster: InMemoryCluster;

  constructor(nodeId: number, cluster: InMemoryCluster) {
    this.nodeId = nodeId;
    this.cluster = cluster;
  }

  async initProducerId(): Promise<{ producerId: string; producerEpoch: number }> {
    return { producerId: PRODUCER_ID, producerEpoch: 0 };
  }

  async produce({ producerId, topicData }: ProduceRequest): Promise<ProduceAnswer> {
    const topics = topicData.map(({ topic, partitions }) => ({
      topicName: topic,
      partitions: partitions
        .map((batch) => this.cluster.write(this.nodeId, producerId, batch))
        .filter((answer) => answer !== null),
    }));
    if (this.answersLate) await sleep(LATE_MS);
    return parse({ topics });
  }
}
