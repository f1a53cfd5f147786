/** The group's members as the page lists them, each with its own figures. Pure. */
import { isCounted, type KnownMember } from './known-member.ts';
import { RELEASE } from '../release.ts';
import { unreportedParts, type MemberFigures } from './member-report.ts';
import { sum } from './sums.ts';

/** A process that is not ready counts as starting for this long after its start. */
const START_MS = 60_000;

type Known = 'process' | 'isThis' | 'standing' | 'host' | 'address' | 'assigned' | 'owned' | 'ownedSince' | 'release';

export interface GroupMember extends Pick<KnownMember, Known> {
  readonly goneSince: string | null;
  /** Its figures are part of the group's sums. */
  readonly isCounted: boolean;
  readonly fault: NonNullable<KnownMember['fault']>['kind'] | null;
  readonly faultSince: string | null;
  /** When its report arrived, by the clock of the process that shows it. */
  readonly answeredAt: string | null;
  /** It runs another release than the process that shows it, or its report lacks parts. */
  readonly isOtherRelease: boolean;
  /** Parts that it does not report. */
  readonly unreportedParts: readonly string[];
  readonly figures: GroupMemberFigures | null;
}

/** From its latest report. Null: not reported, unless noted otherwise. */
export interface GroupMemberFigures {
  readonly ready: boolean;
  readonly isStarting: boolean;
  readonly reasons: readonly string[];
  readonly isGroupConfirmed: boolean | null;
  readonly startedAt: string | null;
  readonly lanes: readonly number[];
  readonly lanesOpen: number;
  /** Commands waiting in Kafka for its lanes; null: unknown. */
  readonly waiting: number | null;
  /** Age of its oldest unanswered command; null: none is unanswered, or not reported. */
  readonly oldestSeconds: number | null;
  readonly unfinished: number | null;
  readonly callsUnderWay: number | null;
  readonly callSlots: number | null;
  readonly ledgerBehindRecords: number | null;
  /** How long its restore has lasted; null: none is under way. */
  readonly restoreSeconds: number | null;
}

/** This member first, then the others present, then those that left, most recent first. */
export function groupMembers(members: readonly KnownMember[], nowMs: number): GroupMember[] {
  const rank = ({ goneSinceMs, isThis, process, standing }: KnownMember): string =>
    standing === 'gone' && !isThis ? `2 ${String(1e15 - (goneSinceMs ?? 0))}` : `${isThis ? 0 : 1} ${process}`;
  const sorted = members.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1));
  return sorted.map((member) => {
    const { answeredMs, fault, figures, goneSinceMs, release, ...known } = member;
    const missing = figures === null ? [] : unreportedParts(figures);
    return {
      ...known,
      goneSince: instant(goneSinceMs),
      isCounted: isCounted(member, nowMs),
      fault: fault?.kind ?? null,
      faultSince: instant(fault?.sinceMs ?? null),
      answeredAt: instant(answeredMs),
      release,
      isOtherRelease: (release !== null && release !== RELEASE) || missing.length > 0,
      unreportedParts: missing,
      figures: figures === null ? null : figuresOf(figures),
    };
  });
}

export function isStarting({ activity, at, lanes, ready, service }: MemberFigures): boolean {
  if (ready || activity === null) return false;
  const hasStopped = lanes.some(({ stage }) => stage === 'stopped');
  return Date.parse(at) - Date.parse(activity.startedAt) < START_MS && service?.state !== 'held' && !hasStopped;
}

function figuresOf(report: MemberFigures): GroupMemberFigures {
  const inputs = report.lanes.flatMap(({ inputs }) => inputs).filter(({ command }) => command !== null);
  const lags = inputs.map(({ lagMessages }) => lagMessages).filter((messages) => messages !== null);
  const ages = Object.values(report.oldestUnansweredSeconds ?? {}).filter((seconds) => seconds !== null);
  return {
    ready: report.ready,
    isStarting: isStarting(report),
    reasons: report.reasons,
    isGroupConfirmed: report.isGroupConfirmed,
    startedAt: report.activity?.startedAt ?? null,
    lanes: report.lanes.map(({ lane }) => lane),
    lanesOpen: report.lanes.filter(({ stage }) => stage === 'open').length,
    waiting: inputs.length > 0 && lags.length === 0 ? null : sum(lags),
    oldestSeconds: ages.length === 0 ? null : Math.max(...ages),
    unfinished: report.unfinished === null ? null : sum(report.unfinished.map(({ count }) => count)),
    callsUnderWay: report.callsUnderWay,
    callSlots: report.callSlots,
    ledgerBehindRecords: report.ledger?.behindRecords ?? null,
    restoreSeconds: report.ledger?.restore?.isUnderWay === true ? report.ledger.restore.seconds : null,
  };
}

function instant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
