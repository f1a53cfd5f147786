/** How a simulated consumer group assigns its partitions: by the given assigner, or evenly. */
import kafkajs, { type Assigner, type PartitionAssigner } from 'kafkajs';
import type { SimulatedBroker } from './simulated-broker.ts';

const { AssignerProtocol } = kafkajs;

export function assignerOf(broker: SimulatedBroker, make: PartitionAssigner | undefined): Assigner {
  return make === undefined ? evenAssigner(broker) : make(assignedFrom(broker));
}

function partitionsOf(broker: SimulatedBroker, topic: string): number[] {
  return broker.topics().includes(topic) ? [...broker.logs(topic).keys()] : [];
}

/** As much of a cluster as our assigners use. */
function assignedFrom(broker: SimulatedBroker): Parameters<PartitionAssigner>[0] {
  const findTopicPartitionMetadata = (topic: string): { partitionId: number }[] =>
    partitionsOf(broker, topic).map((partitionId) => ({ partitionId }));
  return { cluster: { findTopicPartitionMetadata } } as unknown as Parameters<PartitionAssigner>[0];
}

/** Assigns partitions to the members in turn. */
function evenAssigner(broker: SimulatedBroker): Assigner {
  return {
    name: 'even',
    version: 1,
    protocol: ({ topics }) => ({
      name: 'even',
      metadata: AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
    }),
    assign: async ({ members, topics }) =>
      members.map(({ memberId }, index) => {
        const assignment = topics.map((topic): [string, number[]] => [
          topic,
          partitionsOf(broker, topic).filter((partition) => partition % members.length === index),
        ]);
        const memberAssignment = { version: 1, assignment: Object.fromEntries(assignment), userData: Buffer.alloc(0) };
        return { memberId, memberAssignment: AssignerProtocol.MemberAssignment.encode(memberAssignment) };
      }),
  };
}
