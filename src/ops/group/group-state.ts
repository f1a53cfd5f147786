/**
 * The state of the whole group, made of what its members told of themselves: what the page shows. Pure.
 *
 * A process's own work is added up over the members that are heard (lanes, lag, unfinished commands, calls, and what
 * each has done since its start). What each of them knows of all lanes is taken from one: from the member whose copy of the
 * ledger is the least behind (UNKNOWN, keys), and from this one (dead letters' topic, owners, who is in the group).
 * A lane that two tell of, as in a hand-over, is taken from one.
 */
import type { LaneOwner } from '../ledger-state.ts';
import type { ProcessorState } from '../processor-state.ts';
import type { GroupEvent } from './group-timeline.ts';
import { groupMembers, isStarting, type GroupMember } from './group-members.ts';
import { isCounted, type KnownMember } from './known-member.ts';
import type { MemberFigures } from './member-report.ts';
import { activityOf, breakersOf, oldestOf, serviceOf, sum, unfinishedOf, type GroupActivity } from './sums.ts';

export type GroupLane = MemberFigures['lanes'][number] & { readonly process: string };

export interface UntoldLane {
  readonly lane: number;
  readonly process: string | null;
  /** Commands in Kafka, by the offsets of the group; null while Kafka has not said. */
  readonly waiting: readonly { readonly command: string; readonly messages: number }[] | null;
}

export interface GroupReason {
  readonly reason: string;
  readonly processes: readonly string[];
  /** It keeps one of them from its work, and is no part of a start. */
  readonly isBlocking: boolean;
}

export interface GroupState {
  readonly at: string;
  /** Of the process that answers. */
  readonly deployment: ProcessorState['deployment'];
  /** That answers. */
  readonly processId: string;
  readonly startedAt: string;
  /** Every member that is heard is ready. */
  readonly ready: boolean;
  /** All that are heard have just been started. */
  readonly isStarting: boolean;
  readonly reasons: readonly GroupReason[];
  readonly members: readonly GroupMember[];
  /** Whether Kafka has said who is in the group. */
  readonly isGroupKnown: boolean;
  readonly lanesConfigured: number;
  /** Ascending; of members that are heard. */
  readonly lanes: readonly GroupLane[];
  /** Lanes of which nobody that is heard tells, with whom they belong to as far as is known. */
  readonly untoldLanes: readonly UntoldLane[];
  readonly service: ReturnType<typeof serviceOf>;
  readonly operations: ReturnType<typeof breakersOf>;
  readonly unfinished: ReturnType<typeof unfinishedOf>;
  readonly oldestUnansweredSeconds: Readonly<Record<string, number | null>>;
  readonly callsUnderWay: number;
  readonly callSlots: number;
  /** The oldest of any member. */
  readonly lagEndsAgeSeconds: number;
  readonly keysRemembered: number;
  readonly unknownResults: NonNullable<MemberFigures['unknownResults']>;
  /** By this process's copy of the ledger. */
  readonly holds: ProcessorState['holds'];
  readonly openLetters: ProcessorState['openLetters'];
  readonly areLettersRead: boolean;
  /** Since the start of each member that is heard. */
  readonly activity: GroupActivity;
  /** Youngest first. */
  readonly timeline: readonly GroupEvent[];
}

export interface GroupInputs {
  readonly nowMs: number;
  /** Of this process. */
  readonly own: ProcessorState;
  /** This one among them. */
  readonly members: readonly KnownMember[];
  readonly timeline: readonly GroupEvent[];
}

export function groupState({ members, nowMs, own, timeline }: GroupInputs): GroupState {
  const heard = members.filter((member) => isCounted(member, nowMs));
  const told = heard.map(({ figures }) => figures);
  const lanes = lanesOf(heard, own.ledger.owners);
  const upToDate = leastBehind(told, own);
  return {
    at: own.at,
    deployment: own.deployment,
    processId: own.processId,
    startedAt: own.activity.startedAt,
    ready: told.every(({ ready }) => ready),
    isStarting: told.every((figures) => isStarting(figures)),
    reasons: reasonsOf(heard),
    members: groupMembers(members, nowMs),
    isGroupKnown: own.members.some(({ standing }) => standing === 'member'),
    lanesConfigured: own.lanesConfigured,
    lanes,
    untoldLanes: untoldLanes(lanes, own, members),
    service: serviceOf(heard),
    operations: breakersOf(heard),
    unfinished: unfinishedOf(told),
    oldestUnansweredSeconds: oldestOf(told),
    callsUnderWay: sum(told.map(({ callsUnderWay }) => callsUnderWay ?? 0)),
    callSlots: sum(told.map(({ callSlots }) => callSlots ?? 0)),
    lagEndsAgeSeconds: Math.max(...told.map(({ lagEndsAgeSeconds }) => lagEndsAgeSeconds ?? 0)),
    keysRemembered: upToDate.keysRemembered ?? own.keysRemembered,
    unknownResults: upToDate.unknownResults ?? own.unknownResults,
    holds: own.holds,
    openLetters: own.openLetters,
    areLettersRead: own.areLettersRead,
    activity: activityOf(told),
    timeline,
  };
}

/** Of a lane that two have: the owner's by the ledger, else the open one, else the younger. */
function lanesOf(
  heard: readonly (KnownMember & { figures: MemberFigures })[],
  owners: readonly LaneOwner[],
): GroupLane[] {
  const found = new Map<number, { lane: GroupLane; rank: string }>();
  for (const { figures, process } of heard) {
    for (const lane of figures.lanes) {
      const isOwner = owners.some((owner) => owner.lane === lane.lane && owner.processId === figures.processId);
      const rank = `${isOwner ? 1 : 0}${lane.stage === 'open' ? 1 : 0}${figures.at}`;
      const other = found.get(lane.lane);
      if (other === undefined || other.rank < rank) found.set(lane.lane, { lane: { ...lane, process }, rank });
    }
  }
  return [...found.values()].map(({ lane }) => lane).sort((left, right) => left.lane - right.lane);
}

function untoldLanes(
  told: readonly GroupLane[],
  own: ProcessorState,
  members: readonly KnownMember[],
): GroupState['untoldLanes'] {
  const known = new Set(told.map(({ lane }) => lane));
  const missing = Array.from({ length: own.lanesConfigured }, (_, lane) => lane).filter((lane) => !known.has(lane));
  return missing.map((lane) => {
    const assigned = members.find((member) => member.standing === 'member' && member.assigned.includes(lane));
    const owner = members.find((member) => member.owned.includes(lane));
    const last = members.find((member) => member.figures?.lanes.some((told) => told.lane === lane));
    const waiting = own.waitingElsewhere?.filter((each) => each.lane === lane) ?? null;
    return { lane, process: (assigned ?? owner ?? last)?.process ?? null, waiting };
  });
}

function reasonsOf(heard: readonly (KnownMember & { figures: MemberFigures })[]): GroupReason[] {
  const all = heard.flatMap(({ figures, process }) => figures.reasons.map((reason) => ({ reason, process, figures })));
  return [...Map.groupBy(all, ({ reason }) => reason)].map(([reason, found]) => ({
    reason,
    processes: found.map(({ process }) => process),
    isBlocking: found.some(({ figures }) => !figures.ready && !isStarting(figures)),
  }));
}

/** Whose copy of the ledger is the least behind its end; this process's where others are no better. */
function leastBehind(told: readonly MemberFigures[], own: MemberFigures): MemberFigures {
  const behind = (figures: MemberFigures): number =>
    figures.unknownResults === null ? Infinity : (figures.ledger?.behindRecords ?? Infinity);
  return told.reduce((best, figures) => (behind(figures) < behind(best) ? figures : best), own);
}
