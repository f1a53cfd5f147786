/**
 * Results UNKNOWN that wait for an operator's decision, as the ledger has them: of this process's lanes for the metrics, so
 * that sums over all processes are right, and of all lanes for people, for any member knows them all. Pure. Keys are
 * shown as hashes alone (invariant I9).
 */
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import type { UnknownResults } from '../store/ledger-index.ts';
import type { LedgerStatus } from '../store/ledger-view.ts';
import { keyHash } from 'payment-processor-contract/key-hash';

export interface UnknownGroup {
  readonly command: CommandType;
  readonly count: number;
  readonly oldestSeconds: number;
}

export interface WaitingUnknown {
  readonly keyHash: string;
  readonly command: CommandType;
  readonly lane: number;
  readonly ageSeconds: number;
}

export interface UnknownResultsState {
  /** All lanes. */
  readonly waiting: number;
  /** Null when none waits. */
  readonly oldestSeconds: number | null;
  /** The oldest of all lanes, oldest first. */
  readonly listed: readonly WaitingUnknown[];
  /** Of this process's lanes, commands that have any. */
  readonly ofOwnLanes: readonly UnknownGroup[];
}

/** @param ownLanes those of this process */
export function unknownResults(
  ledger: LedgerStatus,
  ownLanes: ReadonlySet<number>,
  nowMs: number,
): UnknownResultsState {
  const everywhere = groupsOf(
    ledger.lanes.flatMap(({ unknown }) => unknown),
    nowMs,
  );
  const own = ledger.lanes.filter(({ lane }) => ownLanes.has(lane));
  return {
    waiting: everywhere.reduce((sum, { count }) => sum + count, 0),
    oldestSeconds: everywhere.length === 0 ? null : Math.max(...everywhere.map(({ oldestSeconds }) => oldestSeconds)),
    listed: ledger.oldestUnknown.map(({ command, completedMs, key, lane }) => {
      return { keyHash: keyHash(key), command, lane, ageSeconds: ageSeconds(completedMs, nowMs) };
    }),
    ofOwnLanes: groupsOf(
      own.flatMap(({ unknown }) => unknown),
      nowMs,
    ),
  };
}

function groupsOf(unknown: readonly UnknownResults[], nowMs: number): UnknownGroup[] {
  return COMMAND_TYPES.flatMap((command) => {
    const found = unknown.filter((group) => group.command === command);
    if (found.length === 0) return [];
    const count = found.reduce((sum, group) => sum + group.count, 0);
    return [{ command, count, oldestSeconds: ageSeconds(Math.min(...found.map(({ oldestMs }) => oldestMs)), nowMs) }];
  });
}

/** Instants are of whoever wrote the result; one ahead of our clock is no negative age. */
function ageSeconds(sinceMs: number, nowMs: number): number {
  return Math.max(0, nowMs - sinceMs) / 1000;
}
