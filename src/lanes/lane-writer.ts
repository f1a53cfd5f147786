/**
 * What one attempt at a lane writes through: the process's writer of the time when it is first asked for.
 *
 *   open    commits of the lane, in the order in which they are handed over; each is told to the ledger's reader, which need
 *           not read it from Kafka then
 *   ended   nothing more is taken; behind all that was, the ledger says that the owner has released its lane, or, where the
 *           writer broke, that this has been fenced
 */
import {
  CLAIM_PREFIX,
  encodeClaim,
  encodeOwner,
  OWNER_KEY,
  type Claimant,
  type OwnerRecord,
} from '../ledger/ledger-records.ts';
import { batchName, type OutgoingRecord } from '../producers/record-batch.ts';
import type { OwnCommit } from '../store/own-commits.ts';
import type { AddTo, Committed, Committer, LaneCommit, Writer } from './committer.ts';

/** At the end of a transaction, in each of its partitions. */
const CONTROL_RECORDS = 1;

export class LaneWriter {
  readonly #committer: Pick<Committer, 'disown' | 'writer'>;
  readonly #ledger: { readonly topic: string; readonly partition: number };
  #picked: Writer | null = null;
  /** Behind the records and the control record of what it wrote last; null: not known. */
  #endOffset: bigint | null = null;
  readonly #unlisten: (() => void)[] = [];
  /** It may be in the ledger: it is to be taken away. */
  #claim: Claimant | null = null;
  /** It was handed over with this. */
  #claiming: LaneCommit | null = null;
  /** The one handed over last. */
  #last: LaneCommit | null = null;
  #ended: Promise<void> | null = null;

  constructor(committer: Pick<Committer, 'disown' | 'writer'>, ledger: { topic: string; partition: number }) {
    this.#committer = committer;
    this.#ledger = ledger;
  }

  get transactionalId(): string {
    return this.#writer().transactionalId;
  }

  /**
   * @param schemas that the lane's ledger does not have yet, by its keys
   * @param fenced transactional ids whose claims on the lane are void
   * @throws as `commit` does
   */
  async own(
    owner: Omit<OwnerRecord, 'transactionalId'>,
    schemas: ReadonlyMap<string, Buffer>,
    fenced: readonly string[],
  ): Promise<void> {
    const { transactionalId } = this;
    const record = { ...owner, transactionalId };
    // The first: what is written by them comes behind.
    const written = Array.from(schemas, ([key, schema]) => this.#record(key, schema));
    const withdrawn = fenced.map((id) => this.#record(CLAIM_PREFIX + id, null));
    const claim = this.#record(CLAIM_PREFIX + transactionalId, encodeClaim({ ...record, isFenced: false }));
    // The last: whoever has read it has read the others.
    this.#claim = record;
    this.#claiming = this.#commitOf([...written, ...withdrawn, claim, this.#record(OWNER_KEY, encodeOwner(record))]);
    await this.commit(this.#claiming);
  }

  /** Takes the claim away, behind all that was handed over; the lane may be claimed again. @throws as `commit` does */
  async withdraw(): Promise<void> {
    if (this.#claim === null) return;
    const { transactionalId } = this.#claim;
    await this.#writer().commit(this.#commitOf([this.#record(CLAIM_PREFIX + transactionalId, null)]));
    this.#claim = null;
  }

  /**
   * @param addTo as of the process's writer
   * @returns what of it is in the lane's ledger; null where its brokers do not say where
   * @throws when it is not certain that it was committed: then the lane is lost
   */
  async commit(commit: LaneCommit, addTo?: AddTo): Promise<OwnCommit | null> {
    if (this.#ended !== null) throw new Error('the lane has released its writer');
    this.#last = commit;
    return this.#placed(await this.#writer().commit(commit, addTo));
  }

  /** @throws LostWithOthersError where the writer broke, though the lane had nothing to commit */
  assertWhole(): void {
    this.#writer().assertWhole();
  }

  onBroken(listener: () => void): void {
    this.#unlisten.push(this.#writer().onBroken(listener));
  }

  /** @returns once the ledger says so, or the next owner has to find out for itself; never rejects */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    for (const unlisten of this.#unlisten) unlisten();
    const [last, writer] = [this.#last, this.#picked];
    const isCancelled = last !== null && writer?.cancel(last) === true;
    if (isCancelled && last === this.#claiming) this.#claim = null;
    await this.withdraw().catch(() => this.#disown());
  }

  /** In the background: the process ends its lanes meanwhile. */
  #disown(): void {
    if (this.#claim === null) return;
    const { transactionalId } = this.#claim;
    const claim = this.#record(CLAIM_PREFIX + transactionalId, encodeClaim({ ...this.#claim, isFenced: true }));
    this.#committer.disown(transactionalId, this.#commitOf([claim]));
  }

  #placed({ commit: { records }, written }: Committed): OwnCommit | null {
    const { partition, topic } = this.#ledger;
    const at = written.get(batchName(topic, partition));
    const followsOffset = this.#endOffset;
    this.#endOffset = null;
    if (at === undefined) return null;
    const ofLedger = records.filter((record) => record.topic === topic && record.partition === partition);
    this.#endOffset = at.firstOffset + BigInt(ofLedger.length + CONTROL_RECORDS);
    return { ...at, isNext: at.firstOffset === followsOffset, records: ofLedger };
  }

  #record(key: string, value: Buffer | null): OutgoingRecord {
    return { ...this.#ledger, key, value, headers: {} };
  }

  #writer(): Writer {
    this.#picked ??= this.#committer.writer();
    return this.#picked;
  }

  #commitOf(records: readonly OutgoingRecord[]): LaneCommit {
    return { lane: this.#ledger.partition, records, shares: new Map(), bytes: 0 };
  }
}
