/** The ids of events that were handled, to leave out copies. */

/** Where events are remembered, by their `uniqueId`. One that is not remembered is handled, again if need be. */
export interface SeenEvents {
  has: (uniqueId: string) => Promise<boolean> | boolean;
  /** Called once the event was handled, before its offset is committed. */
  remember: (uniqueId: string) => Promise<void> | void;
}

/** Copies come soon after one another; this many ids take about a megabyte. */
const IDS_MAX = 10_000;

/** The ids seen last, in memory; the oldest are forgotten first. */
export class RecentIds implements SeenEvents {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  remember(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size <= IDS_MAX) return;
    const [oldest] = this.#ids;
    if (oldest !== undefined) this.#ids.delete(oldest);
  }
}
