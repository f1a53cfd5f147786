/** A member as another one knows it: by Kafka, by the ledger, and by its own report. */
import type { MemberState } from '../members.ts';
import type { MemberFault } from './ask-member.ts';
import type { MemberFigures } from './member-report.ts';

export interface KnownMember {
  /** Its name. */
  readonly process: string;
  readonly isThis: boolean;
  /** `gone`: Kafka's group does not have it any more; `unknown`: Kafka has not answered. */
  readonly standing: MemberState['standing'];
  /** Since when the group is known not to have it; null: it has it, or never had since this process looks. */
  readonly goneSinceMs: number | null;
  readonly host: string | null;
  readonly address: string | null;
  /** By the group; of one that is gone the last ones. */
  readonly assigned: readonly number[];
  /** By the ledger. */
  readonly owned: readonly number[];
  /** When it took the last of them. */
  readonly ownedSince: string | null;
  readonly release: string | null;
  /** What it told last; null: nothing so far. */
  readonly figures: MemberFigures | null;
  readonly answeredMs: number | null;
  /** Why its last report is missing, and since when. */
  readonly fault: { readonly kind: MemberFault; readonly sinceMs: number; readonly isTold: boolean } | null;
}

/** What it told is as good as now for so long: one answer that is late must not make the sums jump. */
const FRESH_MS = 10_000;

/** Whether its figures are part of the group's. */
export function isCounted(member: KnownMember, nowMs: number): member is KnownMember & { figures: MemberFigures } {
  if (member.isThis) return member.figures !== null;
  if (member.figures === null || member.standing === 'gone') return false;
  return nowMs - (member.answeredMs ?? -Infinity) <= FRESH_MS;
}
