/**
 * The coordinator of consumer groups of a simulated Kafka: members, generations, sessions, committed offsets.
 *
 *   stable -> preparing (a member joined, left or was counted out; all must rejoin within their timeout)
 *          -> completing (the leader assigns) -> stable
 */
import type { Draws } from './draws.ts';
import { brokerError } from './broker-error.ts';
import type { Reply } from './simulated-network.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface JoinRequest {
  readonly groupId: string;
  readonly clientId: string;
  /** Empty: a new member. */
  readonly memberId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly memberMetadata: Buffer;
}

export interface JoinAnswer {
  readonly memberId: string;
  readonly generation: number;
  /** Only for the leader; null for the others. */
  readonly members: readonly { memberId: string; memberMetadata: Buffer }[] | null;
}

interface Member {
  readonly request: JoinRequest;
  joining: Reply<JoinAnswer> | null;
  syncing: Reply<Buffer> | null;
  expiry: { cancel: () => void };
}

interface Group {
  stage: 'preparing' | 'completing' | 'stable';
  generation: number;
  readonly members: Map<string, Member>;
  leaderId: string;
  assignments: Map<string, Buffer>;
  readonly offsets: Map<string, bigint>;
}

export class SimulatedGroups {
  readonly #time: VirtualTime;
  readonly #draws: Draws;
  readonly #groups = new Map<string, Group>();

  constructor(time: VirtualTime, draws: Draws) {
    this.#time = time;
    this.#draws = draws;
  }

  /** Commits offsets for a member of the current generation. */
  commit(
    groupId: string,
    memberId: string,
    generation: number,
    offsets: readonly { topic: string; partition: number; offset: string }[],
  ): void {
    const group = this.#group(groupId);
    if (!group.members.has(memberId)) throw brokerError('UNKNOWN_MEMBER_ID');
    if (generation !== group.generation) throw brokerError('ILLEGAL_GENERATION');
    for (const { offset, partition, topic } of offsets) group.offsets.set(`${topic}/${partition}`, BigInt(offset));
  }

  members(groupId: string): {
    memberId: string;
    clientId: string;
    clientHost: string;
    memberAssignment: Buffer;
    memberMetadata: Buffer;
  }[] {
    const { assignments, members } = this.#group(groupId);
    return [...members].map(([memberId, { request }]) => ({
      memberId,
      clientId: request.clientId,
      clientHost: '/simulated',
      memberAssignment: assignments.get(memberId) ?? Buffer.alloc(0),
      memberMetadata: request.memberMetadata,
    }));
  }

  committed(groupId: string, topic: string, partition: number): bigint | null {
    return this.#group(groupId).offsets.get(`${topic}/${partition}`) ?? null;
  }

  /** Deletes the groups' offsets of a deleted topic. */
  forgetTopic(topic: string): void {
    for (const { offsets } of this.#groups.values())
      for (const name of offsets.keys()) if (name.startsWith(`${topic}/`)) offsets.delete(name);
  }

  join(request: JoinRequest, reply: Reply<JoinAnswer>): void {
    const group = this.#group(request.groupId);
    const memberId = request.memberId === '' ? `member-${this.#draws.below(2 ** 32).toString(36)}` : request.memberId;
    const known = group.members.get(memberId);
    if (request.memberId !== '' && known === undefined) {
      reply.reject(brokerError('UNKNOWN_MEMBER_ID'));
      return;
    }
    known?.expiry.cancel();
    group.members.set(memberId, { request, joining: reply, syncing: null, expiry: { cancel: () => undefined } });
    if (group.stage !== 'preparing') this.#prepare(group);
    this.#completeIfAllJoined(group);
  }

  sync(
    groupId: string,
    memberId: string,
    generation: number,
    assignments: ReadonlyMap<string, Buffer>,
    reply: Reply<Buffer>,
  ): void {
    const group = this.#group(groupId);
    const member = this.#checked(group, memberId, generation, reply);
    if (member === null) return;
    if (group.stage === 'preparing') {
      reply.reject(brokerError('REBALANCE_IN_PROGRESS'));
      return;
    }
    this.#touch(group, memberId, member);
    member.syncing = reply;
    if (memberId === group.leaderId && group.stage === 'completing') {
      group.assignments = new Map(assignments);
      group.stage = 'stable';
    }
    if (group.stage !== 'stable') return;
    for (const [id, { syncing }] of group.members) syncing?.resolve(group.assignments.get(id) ?? Buffer.alloc(0));
    for (const waiting of group.members.values()) waiting.syncing = null;
  }

  heartbeat(groupId: string, memberId: string, generation: number, reply: Reply<null>): void {
    const group = this.#group(groupId);
    const member = this.#checked(group, memberId, generation, reply);
    if (member === null) return;
    if (member.joining === null) this.#touch(group, memberId, member);
    if (group.stage === 'preparing') reply.reject(brokerError('REBALANCE_IN_PROGRESS'));
    else reply.resolve(null);
  }

  leave(groupId: string, memberId: string): void {
    this.#remove(this.#group(groupId), memberId);
  }

  #group(groupId: string): Group {
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      group = {
        stage: 'stable',
        generation: 0,
        members: new Map(),
        leaderId: '',
        assignments: new Map(),
        offsets: new Map(),
      };
      this.#groups.set(groupId, group);
    }
    return group;
  }

  #checked(
    group: Group,
    memberId: string,
    generation: number,
    { reject }: Pick<Reply<never>, 'reject'>,
  ): Member | null {
    const member = group.members.get(memberId);
    if (member === undefined) reject(brokerError('UNKNOWN_MEMBER_ID'));
    else if (generation !== group.generation) reject(brokerError('ILLEGAL_GENERATION'));
    else return member;
    return null;
  }

  #prepare(group: Group): void {
    group.stage = 'preparing';
    for (const { syncing } of group.members.values()) syncing?.reject(brokerError('REBALANCE_IN_PROGRESS'));
    for (const member of group.members.values()) member.syncing = null;
    const generation = group.generation;
    const waitMs = Math.max(...[...group.members.values()].map(({ request }) => request.rebalanceTimeoutMs));
    this.#time.after(waitMs, null, () => {
      if (group.stage !== 'preparing' || group.generation !== generation) return;
      for (const [memberId, { expiry, joining }] of group.members) {
        if (joining !== null) continue;
        expiry.cancel();
        group.members.delete(memberId);
      }
      this.#completeIfAllJoined(group);
    });
  }

  #completeIfAllJoined(group: Group): void {
    const members = [...group.members];
    if (group.stage !== 'preparing' || members.some(([, { joining }]) => joining === null)) return;
    group.generation += 1;
    group.stage = members.length === 0 ? 'stable' : 'completing';
    group.leaderId = members[0]?.[0] ?? '';
    const described = members.map(([memberId, { request }]) => ({ memberId, memberMetadata: request.memberMetadata }));
    for (const [memberId, member] of members) {
      const isLeader = memberId === group.leaderId;
      member.joining?.resolve({ memberId, generation: group.generation, members: isLeader ? described : null });
      member.joining = null;
      this.#touch(group, memberId, member);
    }
  }

  #touch(group: Group, memberId: string, member: Member): void {
    member.expiry.cancel();
    member.expiry = this.#time.after(member.request.sessionTimeoutMs, null, () => this.#remove(group, memberId));
  }

  #remove(group: Group, memberId: string): void {
    const member = group.members.get(memberId);
    if (member === undefined) return;
    member.expiry.cancel();
    group.members.delete(memberId);
    for (const waiting of [member.joining, member.syncing]) waiting?.reject(brokerError('UNKNOWN_MEMBER_ID'));
    if (group.members.size > 0 && group.stage !== 'preparing') this.#prepare(group);
    this.#completeIfAllJoined(group);
  }
}
