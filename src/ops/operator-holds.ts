/**
 * Operators' holds on commands. The ledger records them for all lanes, so every member knows them. Reasons are left out, because
 * they may name accounts (invariant I9). Pure.
 */
import { isInForce } from '../ledger/holds.ts';
import { instantMs } from 'payment-processor-contract/instants';
import type { LedgerStatus } from '../store/ledger-view.ts';
import { ageSeconds } from './lag.ts';

export interface HoldState {
  readonly command: string;
  /** Lanes whose owners have confirmed the hold, ascending. */
  readonly lanes: readonly number[];
  readonly operator: string;
  /** When the operator ordered it. */
  readonly at: string;
  /** When it expires; null: only a release ends it. */
  readonly until: string | null;
  readonly seconds: number;
}

export function operatorHolds(ledger: LedgerStatus, nowMs: number): HoldState[] {
  const found = ledger.lanes.flatMap(({ holds, lane }) =>
    Object.entries(holds).map(([command, { at, operator, until }]) => ({
      ...{ command, lanes: [lane], operator, at, until },
      seconds: ageSeconds(instantMs(at) ?? nowMs, nowMs),
    })),
  );
  const inForce = Map.groupBy(
    found.filter((hold) => isInForce(hold, nowMs)),
    ({ at, command, operator }) => [command, at, operator].join('\n'),
  );
  return [...inForce.values()].flatMap((same) => {
    const lanes = same.flatMap((hold) => hold.lanes);
    return same.slice(0, 1).map((hold) => ({ ...hold, lanes }));
  });
}
