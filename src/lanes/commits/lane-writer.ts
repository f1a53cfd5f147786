/**
 * Writes a lane's ledger for one attempt to own it. It picks the process's current loop at its first use.
 *
 *   claimed  the ledger has the claim, and the OWNER record
 *   joined   the lane fills transactions. It learns the offsets of its records, so that the ledger's reader need not fetch them
 *   ended    accepts nothing more. Its last record, if it could be written, shows that the owner has released the
 *            lane, or, if the loop broke, that it is fenced
 */
import {
  CLAIM_PREFIX,
  encodeClaim,
  ownerRecords,
  OWNER_KEY,
  type Claim,
  type OwnerRecord,
} from '../../ledger/ledger-records.ts';
import { batchName, type OutgoingRecord } from '../../producers/record-batch.ts';
import type { OwnCommit } from '../../store/ledger-reader.ts';
import type { Committer } from './committer.ts';
import type { LaneCommit } from './lane-commit.ts';
import type { Committed, Filler, Loop, Seat } from './loop.ts';

/** Kafka writes one at the end of a transaction, to each of its partitions. */
const CONTROL_RECORDS = 1;

/** An open lane. */
export interface LaneFiller extends Pick<Filler, 'fill' | 'lost'> {
  /** @param own its records in the lane's ledger; null if the brokers do not report their offsets */
  committed(own: OwnCommit | null): void;
}

export class LaneWriter {
  readonly #committer: Pick<Committer, 'disown' | 'loop'>;
  readonly #ledger: { readonly topic: string; readonly partition: number };
  #pickedLoop: Loop | null = null;
  #seat: Seat | null = null;
  /** Offset after its last commit, control record included; null: not known. */
  #endOffset: bigint | null = null;
  /** A claim that may be in the ledger, and must be withdrawn. */
  #claim: Omit<Claim, 'isFenced'> | null = null;
  /** The commit that contains the claim. */
  #claiming: LaneCommit | null = null;
  #ended: Promise<void> | null = null;

  constructor(committer: Pick<Committer, 'disown' | 'loop'>, ledger: { topic: string; partition: number }) {
    this.#committer = committer;
    this.#ledger = ledger;
  }

  get transactionalId(): string {
    return this.#loop().transactionalId;
  }

  /**
   * Commits the claim and the OWNER record.
   * @param schemas those that the lane's ledger does not have yet, by ledger key
   * @param fenced transactional ids whose claims on the lane are void
   * @throws when the commit is not certain: then the lane is lost
   */
  async claim(
    owner: Omit<OwnerRecord & Claim, 'transactionalId' | 'isFenced'>,
    schemas: ReadonlyMap<string, Buffer>,
    fenced: readonly string[],
  ): Promise<void> {
    this.#assertNotEnded();
    const { transactionalId } = this;
    const record = { ...owner, transactionalId };
    // Schemas come first: the records after them use them.
    const written = Array.from(schemas, ([key, schema]) => this.#record(key, schema));
    const withdrawn = fenced.map((id) => this.#record(CLAIM_PREFIX + id, null));
    const claimed = this.#record(CLAIM_PREFIX + transactionalId, encodeClaim({ ...record, isFenced: false }));
    // The OWNER record comes last: a reader that has it has the others.
    this.#claim = record;
    this.#claiming = this.#commitOf([
      ...written,
      ...withdrawn,
      claimed,
      this.#record(OWNER_KEY, ownerRecords.encode(record)),
    ]);
    this.#ownCommitOf(await this.#loop().commit(this.#claiming));
  }

  /** Withdraws the claim, after everything that the lane has committed. The lane may be claimed again. @throws as `claim` does */
  async withdraw(): Promise<void> {
    if (this.#claim === null) return;
    const { transactionalId } = this.#claim;
    await this.#loop().commit(this.#commitOf([this.#record(CLAIM_PREFIX + transactionalId, null)]), true);
    this.#claim = null;
  }

  /** From now on the lane fills transactions, until `end`. */
  join(lane: LaneFiller): void {
    this.#assertNotEnded();
    this.#seat = this.#loop().join({
      lane: this.#ledger.partition,
      fill: (untilMs) => lane.fill(untilMs),
      committed: (committed) => lane.committed(this.#ownCommitOf(committed)),
      lost: (error) => lane.lost(error),
    });
  }

  /** The lane may have something to commit. */
  wake(): void {
    this.#seat?.wake();
  }

  /**
   * Never rejects.
   * @returns once the release is in the ledger, or cannot be written: then we fence our own id, or the next owner does
   */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.#seat?.leave();
    const isCancelled = this.#claiming !== null && this.#pickedLoop?.cancel(this.#claiming) === true;
    if (isCancelled) this.#claim = null;
    await this.withdraw().catch(() => this.#disown());
  }

  /** Fences our own id and records that in the ledger. In the background, so that it does not delay the end of the lane. */
  #disown(): void {
    if (this.#claim === null) return;
    const { transactionalId } = this.#claim;
    const claim = this.#record(CLAIM_PREFIX + transactionalId, encodeClaim({ ...this.#claim, isFenced: true }));
    this.#committer.disown(transactionalId, this.#commitOf([claim]));
  }

  /** Also remembers where the commit ends, to tell whether the next one follows it directly. */
  #ownCommitOf({ commit: { records }, written }: Committed): OwnCommit | null {
    const { partition, topic } = this.#ledger;
    const at = written.get(batchName(topic, partition));
    const followsOffset = this.#endOffset;
    this.#endOffset = null;
    if (at === undefined) return null;
    const ofLedger = records.filter((record) => record.topic === topic && record.partition === partition);
    this.#endOffset = at.firstOffset + BigInt(ofLedger.length + CONTROL_RECORDS);
    return { ...at, isNext: at.firstOffset === followsOffset, records: ofLedger };
  }

  #assertNotEnded(): void {
    if (this.#ended !== null) throw new Error('the lane has released its writer');
  }

  #record(key: string, value: Buffer | null): OutgoingRecord {
    return { ...this.#ledger, key, value, headers: {} };
  }

  #loop(): Loop {
    this.#pickedLoop ??= this.#committer.loop();
    return this.#pickedLoop;
  }

  #commitOf(records: readonly OutgoingRecord[]): LaneCommit {
    return { lane: this.#ledger.partition, records, shares: new Map(), bytes: 0 };
  }
}
