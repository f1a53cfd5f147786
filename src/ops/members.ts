/**
 * The processes that share the work, and which lanes each has: the members of the group as Kafka knows them, and the
 * owners by the ledger. They differ for the seconds of a takeover; for longer, something is amiss. Pure.
 */
import type { GroupProcess } from '../consumers/group-processes.ts';
import { processName } from '../consumers/group-processes.ts';
import type { LaneOwner } from './ledger-state.ts';

export interface MemberState {
  /** Its name; null: lanes that nobody has owned yet. */
  readonly process: string | null;
  readonly isThis: boolean;
  /** `gone`: it owned lanes, and the group does not know it; `unknown`: the group has not been asked. */
  readonly standing: 'member' | 'gone' | 'unknown';
  /** Where it is connected from, as Kafka sees it; null when it is no member, or not known. */
  readonly host: string | null;
  /** Of its HTTP endpoints, as it tells the group; null: it tells none, or the group is between two generations. */
  readonly address: string | null;
  /** Lanes that the group has given to it. */
  readonly assigned: readonly number[];
  /** Lanes that it took last. */
  readonly owned: readonly number[];
  /** When it took the last of them. */
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
