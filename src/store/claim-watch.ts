/**
 * Whose claims on a lane the ledger reader meets from now on until it meets an owner record of our own. Fed with every record
 * of the lane, in order.
 */
import {
  CLAIM_PREFIX,
  decodeClaim,
  decodeOwner,
  OWNER_KEY,
  type Claim,
  type Claimant,
} from '../ledger/ledger-records.ts';

export class ClaimWatch {
  readonly #token: string;
  readonly #onSeen: (claimants: readonly Claimant[]) => void;
  /** By token. */
  readonly #claimants = new Map<string, Claimant>();

  /**
   * @param token of our owner record
   * @param onSeen told of the claims before it that still stand there
   */
  constructor(token: string, onSeen: (claimants: readonly Claimant[]) => void) {
    this.#token = token;
    this.#onSeen = onSeen;
  }

  apply(key: string, value: Buffer | null): void {
    if (key.startsWith(CLAIM_PREFIX)) {
      if (value === null) this.#withdrawn(key.slice(CLAIM_PREFIX.length));
      else this.#claimed(decodeClaim(key, value));
    } else if (key === OWNER_KEY && value !== null && decodeOwner(value).token === this.#token) {
      this.#onSeen([...this.#claimants.values()]);
    }
  }

  #claimed(claim: Claim): void {
    if (claim.isFenced) this.#claimants.delete(claim.token);
    else if (claim.token !== this.#token) this.#claimants.set(claim.token, claim);
  }

  /** Its owner released the lane, or it was fenced. */
  #withdrawn(transactionalId: string): void {
    for (const [token, claimant] of this.#claimants)
      if (claimant.transactionalId === transactionalId) this.#claimants.delete(token);
  }
}
