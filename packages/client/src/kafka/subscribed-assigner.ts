/**
 * Assigns a topic's partitions to the members that subscribe to it: subscribers of one group may want different streams.
 * kafkajs' own assigner assumes that all subscribe to the leader's topics, so partitions assigned to the others would go
 * unread. This one has the same name, because members of earlier releases may be in the group.
 */
import kafkajs, { type Assigner, type GroupMember, type Kafka, type PartitionAssigner } from 'kafkajs';
import { readBounds } from './topic-bounds.ts';

const { AssignerProtocol } = kafkajs;
const ASSIGNER_NAME = 'RoundRobinAssigner';
const ASSIGNER_VERSION = 0;

interface SubscribedMember {
  readonly memberId: string;
  readonly topics: readonly string[];
}

interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** @returns each member's partitions by topic, as evenly as the subscriptions allow */
export function assignSubscribed(
  members: readonly SubscribedMember[],
  partitions: readonly TopicPartition[],
): Map<string, Record<string, number[]>> {
  const assigned = new Map(members.map(({ memberId }) => [memberId, new Map<string, number[]>()]));
  const counts = new Map(members.map(({ memberId }) => [memberId, 0]));
  const sorted = members.toSorted((left, right) => (left.memberId < right.memberId ? -1 : 1));
  for (const { partition, topic } of partitions) {
    const subscribers = sorted.filter(({ topics }) => topics.includes(topic)).map(({ memberId }) => memberId);
    const [first] = subscribers;
    if (first === undefined) continue;
    const countOf = (memberId: string): number => counts.get(memberId) ?? 0;
    const leastLoaded = subscribers.reduce((one, other) => (countOf(other) < countOf(one) ? other : one), first);
    counts.set(leastLoaded, countOf(leastLoaded) + 1);
    const topics = assigned.get(leastLoaded);
    topics?.set(topic, [...(topics.get(topic) ?? []), partition]);
  }
  return new Map([...assigned].map(([memberId, topics]) => [memberId, Object.fromEntries(topics)]));
}

/** The kafkajs assigner. When this member leads a join, it fetches the metadata of topics that only others subscribe to. */
export function subscribedAssigner(kafka: Kafka): PartitionAssigner {
  return ({ cluster }): Assigner => ({
    name: ASSIGNER_NAME,
    version: ASSIGNER_VERSION,
    protocol: ({ topics }) => ({
      name: ASSIGNER_NAME,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: ASSIGNER_VERSION,
        topics,
        userData: Buffer.alloc(0),
      }),
    }),
    assign: async ({ members, topics: own }) => {
      const subscribed = members.map((member) => ({ memberId: member.memberId, topics: topicsOf(member, own) }));
      const others = [...new Set(subscribed.flatMap(({ topics }) => topics))].filter((topic) => !own.includes(topic));
      const partitions = own.flatMap((topic) =>
        cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
      );
      if (others.length > 0) partitions.push(...(await readBounds(kafka, others)));
      return [...assignSubscribed(subscribed, partitions)].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: ASSIGNER_VERSION,
          assignment,
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

function topicsOf({ memberMetadata }: GroupMember, fallback: readonly string[]): readonly string[] {
  return AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics ?? fallback;
}
