/** The ids seen last, to leave out copies; bounded, the oldest are forgotten first. */

/** Copies come soon after one another; this many ids take about a megabyte. */
const IDS_MAX = 10_000;

export class RecentIds {
  readonly #ids = new Set<string>();

  isCopy(id: string): boolean {
    return this.#ids.has(id);
  }

  remember(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size <= IDS_MAX) return;
    const [oldest] = this.#ids;
    if (oldest !== undefined) this.#ids.delete(oldest);
  }
}
