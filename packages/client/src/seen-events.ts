/** The ids of events that were handled, to leave out copies. */
import type { PaymentEvent } from './events.ts';

/** Where events are remembered, by their `uniqueId`. One that is not remembered is handled, again if need be. */
export interface SeenEvents {
  has: (uniqueId: string) => Promise<boolean> | boolean;
  /**
   * Called once the event was handled, before its offset is committed. Not of one that cannot be read: a copy may be
   * readable, once its schema is registered.
   */
  remember: (uniqueId: string) => Promise<void> | void;
}

/** Handles the event, unless it is among those that were handled. */
export async function onceRemembered(
  seen: SeenEvents | null,
  { kind, uniqueId }: Pick<PaymentEvent, 'kind' | 'uniqueId'>,
  handle: () => Promise<void>,
): Promise<void> {
  if (uniqueId !== null && (await seen?.has(uniqueId)) === true) return;
  await handle();
  if (uniqueId !== null && kind !== 'unreadable') await seen?.remember(uniqueId);
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
