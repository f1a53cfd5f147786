/**
 * The records of the ledger topic. Partition p belongs to lane p. ledger-value.ts describes the format of values.
 *
 *   key             value
 *   c:<key>         the entry of a command
 *   t:<id>          the state of a transaction (src/status)
 *   !owner          who took the lane last, and when; its token marks the end of a restore
 *   !claim:<id>     a transactional id that may write to the lane, until its owner withdraws the claim or notes that the id is
 *                   fenced, or another owner has fenced it
 *   !position       the next offset of each input topic, the topics' ids and leader epochs, and the number of the owner's commit
 *   !hold           the operators' holds (holds.ts)
 *   !retention      how long the lane remembers keys, and from when it knows all of them (key-retention.ts)
 *   !suspect        the message that the owner reads alone, because the lane may have been lost at it; or none
 *   !poll           the progress of the status poller (src/status); only in lane 0
 *   !schema:<id>    a schema of values in the lane (ledger-value.ts)
 */
import { InternalRecord, VALUE_CLASS } from './ledger-value.ts';

export const ENTRY_PREFIX = 'c:';
export const TRANSACTION_PREFIX = 't:';
export const OWNER_KEY = '!owner';
export const CLAIM_PREFIX = '!claim:';
export const POSITION_KEY = '!position';
export const SUSPECT_KEY = '!suspect';
export const HOLD_KEY = '!hold';

/** A process that has taken a lane. It may write to the lane until it is fenced or has released it. */
export interface Claimant {
  readonly token: string;
  readonly processId: string;
  /** Id of its producer, for the next owner to fence. */
  readonly transactionalId: string;
}

export interface Claim extends Claimant {
  /** The owner's producer failed, and the owner fenced it itself: the next owner removes the claim, and waits for nobody. */
  readonly isFenced: boolean;
  /** How long its owner may take to release the lane, by its own settings; 0: not recorded. */
  readonly releaseWithinMs: number;
}

export interface OwnerRecord extends Claimant {
  readonly atMs: number;
  /** Owners in a row before this one that were lost before any commit but their claim. Stored records use this name. */
  readonly barren: number;
  /** Until when a fenced owner may begin calls, because it may not know that it is fenced; 0: none may. */
  readonly fencedCallUntilMs: number;
  /** How many lanes the owner divided the keys among; 0: not recorded. */
  readonly laneCount: number;
}

/** A message that may cause the losses of its lane. */
export interface Suspect {
  readonly topic: string;
  readonly offset: bigint;
  /** How many owners in a row tried it alone and did not commit it, the current one included. */
  readonly tries: number;
}

/** How far a partition was read under one of its leaders. */
export interface EpochSpan {
  readonly epoch: number;
  /** All records before this offset were read; the last of them has this epoch. */
  readonly end: bigint;
}

export interface PositionRecord {
  /** Token of the owner that wrote it. */
  readonly token: string;
  /** Counts the commits of this owner. */
  readonly commit: number;
  /** Next offset to be read, by topic. */
  readonly next: Readonly<Record<string, bigint>>;
  /**
   * Ids of these topics, and of the ledger itself, by topic: a recreated topic has another id. Empty if the brokers have no ids.
   */
  readonly topicIds: Readonly<Record<string, string>>;
  /**
   * Leader epochs of the records before the positions, by topic, in the order in which they were read: the last one, preceded by
   * those that the broker has not confirmed yet. Empty for a topic without records.
   */
  readonly epochs: Readonly<Record<string, readonly EpochSpan[]>>;
}

export const ownerRecords = new InternalRecord<OwnerRecord>('LaneOwner');
export const positionRecords = new InternalRecord<PositionRecord>('LanePosition');
/** `message` is null if none is marked. */
export const suspectRecords = new InternalRecord<{ readonly message: Suspect | null }>('LaneSuspect');
const claims = new InternalRecord<Omit<Claim, 'transactionalId'>>('LaneClaim');

/** Whether it is the owner record with the token, in this release's schema. Never throws for a foreign value. */
export function isOwnerRecordOf(value: Buffer, token: string): boolean {
  return ownerRecords.isOwn(value) && ownerRecords.decode(value).token === token;
}

export function encodeClaim({ isFenced, processId, releaseWithinMs, token }: Omit<Claim, 'transactionalId'>): Buffer {
  return claims.encodeAs(VALUE_CLASS.claim, 0, { processId, token, isFenced, releaseWithinMs });
}

/**
 * @param key with the prefix
 * @throws LedgerFormatError for any other record
 */
export function decodeClaim(key: string, value: Buffer): Claim {
  return { ...claims.decode(value), transactionalId: key.slice(CLAIM_PREFIX.length) };
}
