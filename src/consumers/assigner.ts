/**
 * Assigns whole lanes to the members of the group: partition p of every input topic goes to the owner of lane p. A lane
 * stays with its member if it can, because each move costs a restore. A member that is about to leave gets no lane,
 * unless all are leaving. A member that stands aside (`member-note.ts`) gets none, unless all that stay do.
 */
import kafkajs, { type Assigner, type PartitionAssigner } from 'kafkajs';
import { decodeMemberNote, encodeMemberNote, subscribedTopics, type MemberNote } from './member-note.ts';

const { AssignerProtocol } = kafkajs;
const ASSIGNER_NAME = 'payment-lanes';
const ASSIGNER_VERSION = 1;

/** `lanes` are the ones that the member reports as its own now. */
export type LaneMember = Pick<MemberNote, 'lanes' | 'isLeaving' | 'isUnserved'> & { readonly memberId: string };

/**
 * Lanes per member: as even as possible, with as few moves as that allows. The order of the members does not matter.
 * @returns each member's lanes by member id, ascending
 */
export function assignLanes(members: readonly LaneMember[], laneCount: number): Map<string, number[]> {
  const staying = members.filter(({ isLeaving }) => !isLeaving);
  const served = staying.filter(({ isUnserved }) => !isUnserved);
  const takers = [served, staying].find((some) => some.length > 0) ?? members;
  const lanesOf = sharedOut(takers, laneCount);
  for (const { memberId } of members) if (!lanesOf.has(memberId)) lanesOf.set(memberId, []);
  return lanesOf;
}

function sharedOut(members: readonly LaneMember[], laneCount: number): Map<string, number[]> {
  const claimed = new Set<number>();
  // Members with more lanes get the larger shares, so that fewer lanes move.
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

/** The kafkajs assigner. It calls `ownNote` at each join. */
export function laneAssigner(laneCount: number, ownNote: () => MemberNote): PartitionAssigner {
  return (): Assigner => ({
    name: ASSIGNER_NAME,
    version: ASSIGNER_VERSION,
    protocol: ({ topics }) => ({
      name: ASSIGNER_NAME,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: ASSIGNER_VERSION,
        topics,
        userData: encodeMemberNote(ownNote()),
      }),
    }),
    assign: async ({ members, topics }) => {
      const lanesOf = assignLanes(
        members.map(({ memberId, memberMetadata }) => ({ memberId, ...decodeMemberNote(memberMetadata) })),
        laneCount,
      );
      // A member with another SANDBOX_COMMANDS reads other topics than we do.
      const topicsOf = new Map(
        members.map(({ memberId, memberMetadata }) => {
          const own = subscribedTopics(memberMetadata);
          return [memberId, own.length > 0 ? own : topics];
        }),
      );
      return [...lanesOf].map(([memberId, lanes]) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: ASSIGNER_VERSION,
          assignment: Object.fromEntries((topicsOf.get(memberId) ?? topics).map((topic) => [topic, lanes])),
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}
