/** A consumer group as the brokers describe it, with each member's partitions. */
import kafkajs from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { CliKafka } from '../context.ts';

const { MemberAssignment } = kafkajs.AssignerProtocol;

export interface GroupDescription {
  /** Stable, PreparingRebalance, CompletingRebalance, Empty, Dead or Unknown. */
  state: string;
  members: {
    clientId: string;
    clientHost: string;
    /** Partitions by topic. */
    assignment: ReadonlyMap<string, readonly number[]>;
  }[];
}

/** @throws the Kafka client's error */
export async function readGroup(kafka: CliKafka, groupId: string): Promise<GroupDescription> {
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([groupId]));
  const [group] = groups;
  return {
    state: group?.state ?? 'Unknown',
    members: (group?.members ?? []).map(({ clientId, clientHost, memberAssignment }) => ({
      clientId,
      clientHost,
      // A member without partitions has no bytes at all.
      assignment: new Map(Object.entries(MemberAssignment.decode(memberAssignment)?.assignment ?? {})),
    })),
  };
}
