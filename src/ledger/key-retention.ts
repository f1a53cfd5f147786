/**
 * The lane's `!retention` record: which keys the lane still knows. LEDGER_RETENTION alone does not tell, because raising it brings
 * no forgotten key back. An owner writes the record with its first commit if its setting differs from the last one.
 */
import { InternalRecord } from './ledger-value.ts';

export const RETENTION_KEY = '!retention';

export interface KeyRetention {
  /** When the record was written, the lane knew every key with a result from this time on. */
  readonly knownFromMs: number;
  /** LEDGER_RETENTION from then on. */
  readonly keptForMs: number;
}

export const retentionRecords = new InternalRecord<KeyRetention>('LaneRetention');

/**
 * The time from which the lane knows every key with a result.
 * @param retention the lane's last record; null: the ledger is new, or its records were lost
 */
export function keysKnownFromMs(retention: KeyRetention | null, nowMs: number): number {
  return retention === null ? nowMs : Math.max(retention.knownFromMs, nowMs - retention.keptForMs);
}
