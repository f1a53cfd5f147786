/** How a simulated consumer group assigns its partitions: by the given assigner, else as kafkajs does. */
import kafkajs, { type Assigner, type PartitionAssigner } from 'kafkajs';
import type { SimulatedBroker } from './simulated-broker.ts';

const { PartitionAssigners } = kafkajs;

/** The assigner is given as much of a cluster as it uses. */
export function assignerOf(broker: SimulatedBroker, make: PartitionAssigner = PartitionAssigners.roundRobin): Assigner {
  const findTopicPartitionMetadata = (topic: string): { partitionId: number }[] =>
    broker.topics().includes(topic) ? [...broker.logs(topic).keys()].map((partitionId) => ({ partitionId })) : [];
  return make({ cluster: { findTopicPartitionMetadata } } as unknown as Parameters<PartitionAssigner>[0]);
}
