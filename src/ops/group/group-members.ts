/** The members of the group as the page lists them, each with its own figures. Pure. */
import { isCounted, type KnownMember } from './known-member.ts';
import { RELEASE } from '../release.ts';
import { untoldParts, type MemberFigures } from './member-report.ts';
import { sum } from './sums.ts';

/** How long not being ready is part of a start. */
const START_MS = 60_000;

type Known = 'process' | 'isThis' | 'standing' | 'host' | 'address' | 'assigned' | 'owned' | 'ownedSince' | 'release';

export interface GroupMember extends Pick<KnownMember, Known> {
  readonly goneSince: string | null;
  /** Part of the sums. */
  readonly isCounted: boolean;
  readonly fault: NonNullable<KnownMember['fault']>['kind'] | null;
  readonly faultSince: string | null;
  /** When it told its figures, by the clock of the process that shows them. */
  readonly answeredAt: string | null;
  /** It tells another release than that of the process that shows it, or not all. */
  readonly isOtherRelease: boolean;
  /** Parts that it does not tell. */
  readonly untold: readonly string[];
  readonly figures: GroupMemberFigures | null;
}

/** As it told them last. Null: it does not tell that. */
export interface GroupMemberFigures {
  readonly ready: boolean;
  readonly isStarting: boolean;
  readonly reasons: readonly string[];
  readonly isGroupConfirmed: boolean | null;
  readonly startedAt: string | null;
  readonly lanes: readonly number[];
  readonly lanesOpen: number;
  /** Commands in Kafka, of its lanes; null while it does not know of any. */
  readonly waiting: number | null;
  readonly oldestSeconds: number | null;
  readonly unfinished: number | null;
  readonly callsUnderWay: number | null;
  readonly callSlots: number | null;
  readonly ledgerBehindRecords: number | null;
  readonly restoreSeconds: number | null;
}

/** This one, then those that are there, then those that are gone, the last one first. */
export function groupMembers(members: readonly KnownMember[], nowMs: number): GroupMember[] {
  const rank = ({ goneSinceMs, isThis, process, standing }: KnownMember): string =>
    standing === 'gone' && !isThis ? `2 ${String(1e15 - (goneSinceMs ?? 0))}` : `${isThis ? 0 : 1} ${process}`;
  const sorted = members.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1));
  return sorted.map((member) => {
    const { answeredMs, fault, figures, goneSinceMs, release, ...known } = member;
    const untold = figures === null ? [] : untoldParts(figures);
    return {
      ...known,
      goneSince: instant(goneSinceMs),
      isCounted: isCounted(member, nowMs),
      fault: fault?.kind ?? null,
      faultSince: instant(fault?.sinceMs ?? null),
      answeredAt: instant(answeredMs),
      release,
      isOtherRelease: (release !== null && release !== RELEASE) || untold.length > 0,
      untold,
      figures: figures === null ? null : figuresOf(figures),
    };
  });
}

export function isStarting({ activity, at, lanes, ready, service }: MemberFigures): boolean {
  if (ready || activity === null) return false;
  const hasStopped = lanes.some(({ stage }) => stage === 'stopped');
  return Date.parse(at) - Date.parse(activity.startedAt) < START_MS && service?.state !== 'held' && !hasStopped;
}

function figuresOf(told: MemberFigures): GroupMemberFigures {
  const inputs = told.lanes.flatMap(({ inputs }) => inputs).filter(({ command }) => command !== null);
  const lags = inputs.map(({ lagMessages }) => lagMessages).filter((messages) => messages !== null);
  const ages = Object.values(told.oldestUnansweredSeconds ?? {}).filter((seconds) => seconds !== null);
  return {
    ready: told.ready,
    isStarting: isStarting(told),
    reasons: told.reasons,
    isGroupConfirmed: told.isGroupConfirmed,
    startedAt: told.activity?.startedAt ?? null,
    lanes: told.lanes.map(({ lane }) => lane),
    lanesOpen: told.lanes.filter(({ stage }) => stage === 'open').length,
    waiting: inputs.length > 0 && lags.length === 0 ? null : sum(lags),
    oldestSeconds: ages.length === 0 ? null : Math.max(...ages),
    unfinished: told.unfinished === null ? null : sum(told.unfinished.map(({ count }) => count)),
    callsUnderWay: told.callsUnderWay,
    callSlots: told.callSlots,
    ledgerBehindRecords: told.ledger?.behindRecords ?? null,
    restoreSeconds: told.ledger?.restore?.isUnderWay === true ? told.ledger.restore.seconds : null,
  };
}

function instant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
