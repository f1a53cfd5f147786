/** What the poller sent a moment ago, by transaction: the index does not show it yet. No I/O and no clock. */

/** The index shows it sooner, unless the transaction's lane commits nothing. After this time it is sent again. */
const KEPT_FOR_MS = 30_000;

export class NotYetIndexed<Value> {
  /** Oldest first. */
  readonly #sent = new Map<string, { readonly value: Value; readonly atMs: number }>();

  get(id: string): Value | undefined {
    return this.#sent.get(id)?.value;
  }

  /** @param nowMs monotonic, as in `prune` */
  set(id: string, value: Value, nowMs: number): void {
    this.#sent.delete(id);
    this.#sent.set(id, { value, atMs: nowMs });
  }

  delete(id: string): void {
    this.#sent.delete(id);
  }

  prune(nowMs: number): void {
    for (const [id, { atMs }] of this.#sent) {
      if (nowMs - atMs < KEPT_FOR_MS) return;
      this.#sent.delete(id);
    }
  }
}
