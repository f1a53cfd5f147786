/**
 * What an open lane here has committed to its ledger, as its reader takes it: without reading it back from Kafka.
 *
 * It may be taken only where nothing of others lies before it unread. A commit whose first record comes right behind the
 * control record of the one before is the next: brokers write a transaction's control record before its producer's next
 * transaction, so in one offset between the two nothing else can be.
 */
import type { WrittenAt } from '../producers/producer-session.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import type { LedgerRecord } from './ledger-index.ts';

export interface OwnCommit extends WrittenAt {
  /** Right behind the one before of the same producer: between the two is its control record alone. */
  readonly isNext: boolean;
  /** Of the lane's ledger, in their order. */
  readonly records: readonly OutgoingRecord[];
}

/** Below it everything must have been read, for the commit to follow without a gap. */
export function neededOffset({ firstOffset, isNext }: OwnCommit): bigint {
  return isNext ? firstOffset - 1n : firstOffset;
}

/** Behind its last record. */
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
