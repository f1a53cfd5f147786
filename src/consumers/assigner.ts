/**
 * Hands whole lanes to the members of the group: partition p of every input topic goes to the owner of lane p, and a
 * lane stays where it was when it can, for each move costs a restore.
 */
import kafkajs, { type Assigner, type PartitionAssigner } from 'kafkajs';
import { memberNote } from './member-address.ts';

const { AssignerProtocol } = kafkajs;
const ASSIGNER_NAME = 'payment-lanes';
const ASSIGNER_VERSION = 1;

export interface LaneMember {
  readonly memberId: string;
  /** Lanes that it has now, as it says itself. */
  readonly lanes: readonly number[];
}

/**
 * Lanes per member: as even as can be, with as few moves as that allows. The same members in any order give the same.
 * @returns member id to its lanes, ascending
 */
export function assignLanes(members: readonly LaneMember[], laneCount: number): Map<string, number[]> {
  const claimed = new Set<number>();
  // Whoever has most keeps most: members with more lanes get the larger shares.
  const sorted = members
    .map((member) => ({
      memberId: member.memberId,
      kept: [] as number[],
      claims: [...new Set(member.lanes)].filter((lane) => lane >= 0 && lane < laneCount),
    }))
    .sort((left, right) => right.claims.length - left.claims.length || (left.memberId < right.memberId ? -1 : 1));
  const smallShare = Math.floor(laneCount / sorted.length);
  const largerShares = laneCount % sorted.length;
  const shareOf = (index: number): number => smallShare + (index < largerShares ? 1 : 0);
  sorted.forEach((member, index) => {
    for (const lane of member.claims.sort((left, right) => left - right)) {
      if (member.kept.length >= shareOf(index) || claimed.has(lane)) continue;
      claimed.add(lane);
      member.kept.push(lane);
    }
  });
  const free = Array.from({ length: laneCount }, (_, lane) => lane).filter((lane) => !claimed.has(lane));
  sorted.forEach((member, index) => member.kept.push(...free.splice(0, shareOf(index) - member.kept.length)));
  return new Map(sorted.map((member) => [member.memberId, member.kept.sort((left, right) => left - right)]));
}

/**
 * The kafkajs assigner. `ownLanes` and `address` are asked at each join; only the lane list and an address that stays the same
 * travel, so that a join never causes another.
 */
export function laneAssigner(
  laneCount: number,
  ownLanes: () => readonly number[],
  address: () => string | null,
): PartitionAssigner {
  return (): Assigner => ({
    name: ASSIGNER_NAME,
    version: ASSIGNER_VERSION,
    protocol: ({ topics }) => ({
      name: ASSIGNER_NAME,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: ASSIGNER_VERSION,
        topics,
        userData: memberNote(ownLanes(), address()),
      }),
    }),
    assign: async ({ members, topics }) => {
      const lanesOf = assignLanes(
        members.map(({ memberId, memberMetadata }) => ({ memberId, lanes: readLanes(memberMetadata) })),
        laneCount,
      );
      return [...lanesOf].map(([memberId, lanes]) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: ASSIGNER_VERSION,
          assignment: Object.fromEntries(topics.map((topic) => [topic, lanes])),
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

function readLanes(memberMetadata: Buffer): number[] {
  try {
    const userData = AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData ?? Buffer.from('[]');
    const lanes: unknown = JSON.parse(userData.toString());
    return Array.isArray(lanes) ? lanes.filter((lane): lane is number => Number.isInteger(lane)) : [];
  } catch {
    // A member of another release: it has nothing that we know of.
    return [];
  }
}
