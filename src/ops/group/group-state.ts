/**
 * The state of the whole group, built from its members' reports, as the page shows it. Pure.
 *
 * Figures about a process's own work (lanes, lag, unfinished commands, calls, activity since its start) are summed over
 * the members that answer. Figures about all lanes, which every member knows, come from one member: UNKNOWN results,
 * holds and the number of keys from the one whose copy of the ledger is least behind; dead letters, owners and members
 * from the process that answers. If two members report a lane, as in a handover, one report counts.
 */
import type { LaneOwner } from '../ledger-state.ts';
import type { ProcessorState } from '../processor-state.ts';
import type { GroupSample } from './group-history.ts';
import type { GroupEvent } from './group-timeline.ts';
import { groupMembers, isStarting, type GroupMember } from './group-members.ts';
import { isCounted, type KnownMember, type ReportingMember } from './known-member.ts';
import type { MemberFigures } from './member-report.ts';
import { activityOf, breakersOf, oldestOf, serviceOf, sum, unfinishedOf, type GroupActivity } from './sums.ts';

/** Lag that is computed from older ends of partitions is stale. The processor asks for the ends every few seconds. */
const ENDS_AGE_SECONDS_MAX = 20;

export type GroupLane = MemberFigures['lanes'][number] & { readonly process: string };

export interface UnreportedLane {
  readonly lane: number;
  /** The member that it is assigned to; else its last owner in the ledger, or a member that once reported it; null: none is known. */
  readonly process: string | null;
  /** Commands in Kafka, by the group's offsets; null until Kafka has answered. */
  readonly waiting: readonly { readonly command: string; readonly messages: number }[] | null;
}

export interface GroupReason {
  readonly reason: string;
  readonly processes: readonly string[];
  /** At least one member with this problem is neither ready nor starting. */
  readonly isBlocking: boolean;
}

export interface GroupState {
  readonly at: string;
  /** As the process that answers sees it. */
  readonly deployment: ProcessorState['deployment'];
  /** The process that answers. */
  readonly processId: string;
  readonly startedAt: string;
  /** Every member that answers is ready. */
  readonly ready: boolean;
  /** Every member that answers is still starting. */
  readonly isStarting: boolean;
  readonly reasons: readonly GroupReason[];
  readonly members: readonly GroupMember[];
  /** Whether Kafka has said who is in the group. */
  readonly isGroupKnown: boolean;
  readonly lanesConfigured: number;
  /** Lanes of members that answer, ascending. */
  readonly lanes: readonly GroupLane[];
  /** Lanes that no answering member reports. */
  readonly unreportedLanes: readonly UnreportedLane[];
  readonly service: ReturnType<typeof serviceOf>;
  readonly operations: ReturnType<typeof breakersOf>;
  readonly unfinished: ReturnType<typeof unfinishedOf>;
  readonly oldestUnansweredSeconds: Readonly<Record<string, number | null>>;
  readonly callsUnderWay: number;
  readonly callSlots: number;
  /** How old the partition ends are from which lag is computed, at the member where they are oldest; null: lag is current. */
  readonly staleLagSeconds: number | null;
  readonly keysRemembered: number;
  readonly unknownResults: NonNullable<MemberFigures['unknownResults']>;
  readonly holds: NonNullable<MemberFigures['holds']>;
  /** Whether the copy of the ledger that UNKNOWN results and holds come from is up to date. */
  readonly isLedgerRead: boolean;
  readonly openLetters: ProcessorState['openLetters'];
  readonly areLettersRead: boolean;
  /** Since the start of each member that answers. */
  readonly activity: GroupActivity;
  /** The last minute, oldest first; `/api/group/history` has more. */
  readonly samples: readonly GroupSample[];
  /** Newest first. */
  readonly timeline: readonly GroupEvent[];
}

export interface GroupInputs {
  readonly nowMs: number;
  /** State of this process. */
  readonly own: ProcessorState;
  /** All members, including this one. */
  readonly members: readonly KnownMember[];
  readonly samples: readonly GroupSample[];
  readonly timeline: readonly GroupEvent[];
}

export function groupState({ members, nowMs, own, samples, timeline }: GroupInputs): GroupState {
  const reporting = members.filter((member) => isCounted(member, nowMs));
  const reports = reporting.map(({ figures }) => figures);
  const lanes = lanesOf(reporting, own.ledger.owners);
  const upToDate = leastBehind(reports, own);
  const lagAgeSeconds = Math.max(...reports.map(({ lagEndsAgeSeconds }) => lagEndsAgeSeconds ?? 0));
  return {
    at: own.at,
    deployment: own.deployment,
    processId: own.processId,
    startedAt: own.activity.startedAt,
    ready: reports.every(({ ready }) => ready),
    isStarting: reports.every((figures) => isStarting(figures)),
    reasons: reasonsOf(reporting),
    members: groupMembers(members, nowMs),
    isGroupKnown: own.members.some(({ standing }) => standing === 'member'),
    lanesConfigured: own.lanesConfigured,
    lanes,
    unreportedLanes: unreportedLanes(lanes, own, members),
    service: serviceOf(reporting),
    operations: breakersOf(reporting),
    unfinished: unfinishedOf(reports),
    oldestUnansweredSeconds: oldestOf(reports),
    callsUnderWay: sum(reports.map(({ callsUnderWay }) => callsUnderWay ?? 0)),
    callSlots: sum(reports.map(({ callSlots }) => callSlots ?? 0)),
    staleLagSeconds: lanes.length === 0 || lagAgeSeconds < ENDS_AGE_SECONDS_MAX ? null : lagAgeSeconds,
    keysRemembered: upToDate.keysRemembered ?? own.keysRemembered,
    unknownResults: upToDate.unknownResults ?? own.unknownResults,
    holds: upToDate.holds ?? own.holds,
    isLedgerRead: isLedgerRead(upToDate),
    openLetters: own.openLetters,
    areLettersRead: own.areLettersRead,
    activity: activityOf(reports),
    samples,
    timeline,
  };
}

/** If two members report a lane: the report of the ledger's owner counts, else the open lane, else the newer report. */
function lanesOf(reporting: readonly ReportingMember[], owners: readonly LaneOwner[]): GroupLane[] {
  const found = new Map<number, { lane: GroupLane; rank: string }>();
  for (const { figures, process } of reporting) {
    for (const lane of figures.lanes) {
      const isOwner = owners.some((owner) => owner.lane === lane.lane && owner.processId === figures.processId);
      const rank = `${isOwner ? 1 : 0}${lane.stage === 'open' ? 1 : 0}${figures.at}`;
      const other = found.get(lane.lane);
      if (other === undefined || other.rank < rank) found.set(lane.lane, { lane: { ...lane, process }, rank });
    }
  }
  return [...found.values()].map(({ lane }) => lane).sort((left, right) => left.lane - right.lane);
}

function unreportedLanes(
  reported: readonly GroupLane[],
  own: ProcessorState,
  members: readonly KnownMember[],
): GroupState['unreportedLanes'] {
  const known = new Set(reported.map(({ lane }) => lane));
  const missing = Array.from({ length: own.lanesConfigured }, (_, lane) => lane).filter((lane) => !known.has(lane));
  return missing.map((lane) => {
    const assigned = members.find((member) => member.standing === 'member' && member.assigned.includes(lane));
    const owner = members.find((member) => member.owned.includes(lane));
    const last = members.find((member) => member.figures?.lanes.some((reported) => reported.lane === lane));
    const waiting = own.waitingElsewhere?.filter((each) => each.lane === lane) ?? null;
    return { lane, process: (assigned ?? owner ?? last)?.process ?? null, waiting };
  });
}

function reasonsOf(reporting: readonly ReportingMember[]): GroupReason[] {
  const all = reporting.flatMap(({ figures, process }) =>
    figures.reasons.map((reason) => ({ reason, process, figures })),
  );
  return [...Map.groupBy(all, ({ reason }) => reason)].map(([reason, found]) => ({
    reason,
    processes: found.map(({ process }) => process),
    isBlocking: found.some(({ figures }) => !figures.ready && !isStarting(figures)),
  }));
}

/** The figures of the member whose copy of the ledger is least behind; this process's unless another is ahead of it. */
function leastBehind(reports: readonly MemberFigures[], own: MemberFigures): MemberFigures {
  const behind = (figures: MemberFigures): number =>
    isLedgerRead(figures) ? (figures.ledger?.behindRecords ?? Infinity) : Infinity;
  return reports.reduce((best, figures) => (behind(figures) < behind(best) ? figures : best), own);
}

/** It was read to its end at the start, and the end that it is compared with is not old. */
function isLedgerRead({ holds, lagEndsAgeSeconds, ledger, unknownResults }: MemberFigures): boolean {
  if (holds === null || unknownResults === null || (lagEndsAgeSeconds ?? Infinity) >= ENDS_AGE_SECONDS_MAX)
    return false;
  return ledger?.behindRecords != null && ledger.restore?.isUnderWay !== true;
}
