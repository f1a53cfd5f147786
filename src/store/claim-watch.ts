/**
 * Collects other owners' claims on a lane, from now on until the ledger reader applies our own owner record. It gets every record
 * of the lane, in order.
 */
import { CLAIM_PREFIX, decodeClaim, isOwnerRecordOf, OWNER_KEY, type Claimant } from '../ledger/ledger-records.ts';

export class ClaimWatch {
  readonly #token: string;
  readonly #onSeen: (claimants: readonly Claimant[]) => void;
  /** Their records, by key. Decoded at the end: compaction keeps only a schema's last copy, which may come after the claims that use it. */
  readonly #claims = new Map<string, Buffer>();

  /**
   * @param token of our owner record
   * @param onSeen called at that record, with the claims before it that still stand
   */
  constructor(token: string, onSeen: (claimants: readonly Claimant[]) => void) {
    this.#token = token;
    this.#onSeen = onSeen;
  }

  apply(key: string, value: Buffer | null): void {
    if (key.startsWith(CLAIM_PREFIX)) {
      // Null: its owner released the lane, or it was fenced.
      if (value === null) this.#claims.delete(key);
      else this.#claims.set(key, value);
    } else if (key === OWNER_KEY && value !== null && isOwnerRecordOf(value, this.#token)) {
      const claims = [...this.#claims].map(([name, claim]) => decodeClaim(name, claim));
      this.#onSeen(claims.filter(({ isFenced, token }) => !isFenced && token !== this.#token));
    }
  }
}
