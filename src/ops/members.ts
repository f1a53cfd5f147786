/**
 * The processes that share the work, with their lanes: the group's members according to Kafka, and the owners according to the
 * ledger. The two differ for seconds during a takeover; a longer difference is a fault. Pure.
 */
import type { GroupProcess } from '../consumers/group-processes.ts';
import { processName } from '../consumers/group-processes.ts';
import type { LaneOwner } from './ledger-state.ts';

export interface MemberState {
  /** The process's name; null: lanes that never had an owner. */
  readonly process: string | null;
  readonly isThis: boolean;
  /** `gone`: it owned lanes but is not in the group; `unknown`: Kafka has not said who is in the group. */
  readonly standing: 'member' | 'gone' | 'unknown';
  /** The host that it connects from, as Kafka sees it; null: not a member, or unknown. */
  readonly host: string | null;
  /**
   * Its HTTP endpoints, as it announced to the group; null: it announced none, is no member, or the group is
   * rebalancing.
   */
  readonly address: string | null;
  /** Lanes that the group has assigned to it. */
  readonly assigned: readonly number[];
  /** Lanes that it was the last to own. */
  readonly owned: readonly number[];
  /** When it took the most recent of them. */
  readonly since: string | null;
}

/** @param group null while Kafka has not answered */
export function memberStates(
  group: readonly GroupProcess[] | null,
  owners: readonly LaneOwner[],
  ownProcessId: string,
): MemberState[] {
  const ownedBy = Map.groupBy(owners, ({ processId }) => (processId === null ? null : processName(processId)));
  const names = new Set([...(group ?? []).map(({ process }) => process), ...ownedBy.keys()]);
  const states = [...names].map((process): MemberState => {
    const found = group?.filter((member) => member.process === process) ?? [];
    const owned = ownedBy.get(process) ?? [];
    return {
      process,
      isThis: process === processName(ownProcessId),
      standing: group === null ? 'unknown' : found.length > 0 ? 'member' : 'gone',
      host: found[0]?.host ?? null,
      address: found[0]?.address ?? null,
      assigned: found.flatMap(({ lanes }) => lanes),
      owned: owned.map(({ lane }) => lane),
      since: owned.map(({ since }) => since ?? '').reduce((last, each) => (each > last ? each : last), '') || null,
    };
  });
  const rank = ({ isThis, process, standing }: MemberState): string =>
    `${isThis ? 0 : standing === 'gone' || process === null ? 2 : 1} ${process ?? ''}`;
  return states.sort((left, right) => (rank(left) < rank(right) ? -1 : 1));
}
