/**
 * The commits of an open lane here, which the ledger's reader takes without reading them back from Kafka.
 *
 * The reader may take a commit only if it has read everything before it. A commit whose first record directly follows the control
 * record of the previous commit is the next one: brokers write a transaction's control record before its producer's next
 * transaction, so nothing else fits into the one offset between them.
 */
import type { WrittenAt } from '../producers/producer-session.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import type { LedgerRecord } from './ledger-index.ts';

export interface OwnCommit extends WrittenAt {
  /** It directly follows the producer's previous commit: only a control record lies between them. */
  readonly isNext: boolean;
  /** Its records in the lane's ledger, in order. */
  readonly records: readonly OutgoingRecord[];
}

/** The reader must have read everything below this offset, so that the commit follows without a gap. */
export function neededOffset({ firstOffset, isNext }: OwnCommit): bigint {
  return isNext ? firstOffset - 1n : firstOffset;
}

/** The offset after its last record. */
export function endOffset({ firstOffset, records }: OwnCommit): bigint {
  return firstOffset + BigInt(records.length);
}

export function ledgerRecords({ firstOffset, records, timestampMs }: OwnCommit): LedgerRecord[] {
  return records.map(({ key, value }, index) => ({
    key: String(key),
    value,
    offset: firstOffset + BigInt(index),
    timestampMs,
  }));
}
