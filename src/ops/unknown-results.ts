/**
 * UNKNOWN results in the ledger that wait for an operator's decision. Metrics count only this process's lanes, so that sums over
 * all processes are right. People see all lanes, which every member knows. Keys appear only as hashes (invariant I9). Pure.
 */
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import type { UnknownResults } from '../store/ledger-index.ts';
import type { LedgerStatus } from '../store/ledger-view.ts';
import { keyHash } from 'payment-processor-contract/key-hash';
import { ageSeconds } from './lag.ts';

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
  /** Null: none is waiting. */
  readonly oldestSeconds: number | null;
  /** The oldest of all lanes, oldest first. */
  readonly listed: readonly WaitingUnknown[];
  /** In this process's lanes; only command types with UNKNOWN results. */
  readonly ofOwnLanes: readonly UnknownGroup[];
}

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
