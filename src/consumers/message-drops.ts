/** Counts how often messages made our own code fail, until each is set aside (invariant I6). */
import { DROPS_MAX } from '../ledger/decide.ts';

/** Places remembered at once: more than a lane can be stuck on, for each stops its topic. */
const PLACES_MAX = 100;

export class MessageDrops {
  readonly #counts = new Map<string, number>();

  /** @returns whether the message is to be set aside now; else it is tried again */
  count(topic: string, offset: bigint): boolean {
    const place = `${topic}@${offset}`;
    const drops = (this.#counts.get(place) ?? 0) + 1;
    if (this.#counts.size >= PLACES_MAX) this.#counts.clear();
    if (drops < DROPS_MAX) {
      this.#counts.set(place, drops);
      return false;
    }
    this.#counts.delete(place);
    return true;
  }
}
