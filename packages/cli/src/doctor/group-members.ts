/** A consumer group as the brokers describe it, with each member's partitions. */
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { CliKafka } from '../context.ts';

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
      assignment: readAssignment(memberAssignment),
    })),
  };
}

/**
 * Reads an assignment of the consumer protocol: int16 version, then an array of topics (int16 length and name) with their
 * partitions (an array of int32). A member without partitions has no bytes at all.
 */
function readAssignment(bytes: Buffer): Map<string, number[]> {
  const assignment = new Map<string, number[]>();
  if (bytes.length === 0) return assignment;
  let at = 2;
  const int32 = (): number => {
    at += 4;
    return bytes.readInt32BE(at - 4);
  };
  for (let topics = int32(); topics > 0; topics -= 1) {
    const nameBytes = bytes.readInt16BE(at);
    const name = bytes.toString('utf8', at + 2, at + 2 + nameBytes);
    at += 2 + nameBytes;
    const partitions = Array.from({ length: int32() }, int32);
    assignment.set(name, partitions);
  }
  return assignment;
}
