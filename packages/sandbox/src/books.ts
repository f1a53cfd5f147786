/**
 * Double-entry books. Every effect is one entry whose lines sum to zero in each currency. An imbalance is a bug in the sandbox:
 * it throws, so that no call is answered as if nothing had happened.
 */

export interface BookLine {
  /** An account's id, or one of the service's own: `transit`, `fees`, `exchange`, `uma-network`, `starting-balances`. */
  account: string;
  currency: string;
  /** Smallest unit; positive for a credit to the account, negative for a debit. */
  amount: bigint;
}

export interface BookBalance {
  account: string;
  currency: string;
  balance: bigint;
}

export class Books {
  readonly #balances = new Map<string, BookBalance>();
  #entries = 0;

  get entries(): number {
    return this.#entries;
  }

  /** @throws if the lines do not sum to zero per currency */
  post(occasion: string, lines: readonly BookLine[]): void {
    const touched = new Map<string, bigint>();
    for (const line of lines) {
      const key = `${line.currency} ${line.account}`;
      const balance = this.#balances.get(key);
      if (balance === undefined)
        this.#balances.set(key, { account: line.account, currency: line.currency, balance: line.amount });
      else balance.balance += line.amount;
      touched.set(line.currency, (touched.get(line.currency) ?? 0n) + line.amount);
    }
    this.#entries += 1;
    for (const [currency, sum] of touched)
      if (sum !== 0n) throw new Error(`BUG: the books are out by ${sum} ${currency} after ${occasion}`);
  }

  balanceOf(account: string, currency: string): bigint {
    return this.#balances.get(`${currency} ${account}`)?.balance ?? 0n;
  }

  balances(): readonly BookBalance[] {
    return [...this.#balances.values()];
  }

  /** Recomputes the sum over all accounts per currency; each must be zero. */
  totals(): ReadonlyMap<string, bigint> {
    const totals = new Map<string, bigint>();
    for (const { currency, balance } of this.#balances.values())
      totals.set(currency, (totals.get(currency) ?? 0n) + balance);
    return totals;
  }
}

/** The same lines reversed. */
export function reversed(lines: readonly BookLine[]): BookLine[] {
  return lines.map((line) => ({ ...line, amount: -line.amount }));
}
