/**
 * What one attempt at a lane writes through: the process's writer of the time when it is first asked for.
 *
 *   open    commits of the lane, in the order in which they are handed over
 *   ended   nothing more is taken; behind all that was, the ledger says that the owner has released its lane
 */
import {
  CLAIM_PREFIX,
  encodeClaim,
  encodeOwner,
  encodeReleased,
  OWNER_KEY,
  RELEASED_KEY,
  type OwnerRecord,
} from '../ledger/ledger-records.ts';
import type { OutgoingRecord } from '../producers/transactional-producer.ts';
import type { Committer, LaneCommit, Writer } from './committer.ts';

export class LaneWriter {
  readonly #committer: Pick<Committer, 'writer'>;
  readonly #ledger: { readonly topic: string; readonly partition: number };
  #picked: Writer | null = null;
  readonly #unlisten: (() => void)[] = [];
  /** Of the OWNER record handed over last. */
  #token: string | null = null;
  /** The one handed over last. */
  #last: LaneCommit | null = null;
  #ended: Promise<void> | null = null;

  constructor(committer: Pick<Committer, 'writer'>, ledger: { topic: string; partition: number }) {
    this.#committer = committer;
    this.#ledger = ledger;
  }

  get transactionalId(): string {
    return this.#writer().transactionalId;
  }

  /**
   * @param fenced transactional ids whose claims on the lane are void
   * @throws as `commit` does
   */
  async own(owner: Omit<OwnerRecord, 'transactionalId'>, fenced: readonly string[]): Promise<void> {
    this.#token = owner.token;
    const { transactionalId } = this;
    const record = { ...owner, transactionalId };
    const withdrawn = fenced.map((id) => this.#record(CLAIM_PREFIX + id, null));
    const claim = this.#record(CLAIM_PREFIX + transactionalId, encodeClaim(record));
    // The last: whoever has read it has read the others.
    await this.commit(commitOf([...withdrawn, claim, this.#record(OWNER_KEY, encodeOwner(record))]));
  }

  /** @throws when it is not certain that it was committed: then the lane is lost */
  async commit(commit: LaneCommit): Promise<void> {
    if (this.#ended !== null) throw new Error('the lane has released its writer');
    this.#last = commit;
    await this.#writer().commit(commit);
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
    const [last, token, writer] = [this.#last, this.#token, this.#picked];
    if (last !== null) writer?.cancel(last);
    if (token === null || writer === null || writer.isBroken()) return;
    const claim = this.#record(CLAIM_PREFIX + writer.transactionalId, null);
    const released = this.#record(RELEASED_KEY, encodeReleased(token));
    await writer.commit(commitOf([claim, released])).catch(() => undefined);
  }

  #record(key: string, value: Buffer | null): OutgoingRecord {
    return { ...this.#ledger, key, value, headers: {} };
  }

  #writer(): Writer {
    this.#picked ??= this.#committer.writer();
    return this.#picked;
  }
}

function commitOf(records: readonly OutgoingRecord[]): LaneCommit {
  return { records, shares: new Map(), bytes: 0 };
}
