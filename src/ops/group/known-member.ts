/** What a member knows about itself or another: from Kafka, from the ledger, and from its report. */
import type { MemberState } from '../members.ts';
import type { MemberFault } from './ask-member.ts';
import type { MemberFigures } from './member-report.ts';

/** After it has left, `assigned` still holds its last lanes. */
export interface KnownMember extends Omit<MemberState, 'process' | 'since'> {
  readonly process: string;
  /** When we saw that it had left the group; null: it is in the group, or was never seen there. */
  readonly goneSinceMs: number | null;
  /** When it took the most recent of its lanes. */
  readonly ownedSince: string | null;
  readonly release: string | null;
  /** Its latest report; null: none yet. */
  readonly figures: MemberFigures | null;
  readonly answeredMs: number | null;
  /** Why its latest report is missing, and since when; `isNoted`: the timeline shows it. */
  readonly fault: { readonly kind: MemberFault; readonly sinceMs: number; readonly isNoted: boolean } | null;
}

/** A member whose report counts in the group's figures. */
export type ReportingMember = KnownMember & { readonly figures: MemberFigures };

/** How long a report counts as current: one late answer must not make the sums jump. */
const FRESH_MS = 10_000;

export function isCounted(member: KnownMember, nowMs: number): member is ReportingMember {
  if (member.isThis) return member.figures !== null;
  if (member.figures === null || member.standing === 'gone') return false;
  return nowMs - (member.answeredMs ?? -Infinity) <= FRESH_MS;
}
