/** Counts how often messages made our own code fail, until each is set aside (invariant I6). Outlives the loss of a lane. */
import { FAILURES_MAX } from '../ledger/decide.ts';

/** Places remembered at once. A lane needs fewer: a failing message stops its topic, so each topic has one at most. */
const PLACES_MAX = 100;

export class MessageFailures {
  readonly #counts = new Map<string, number>();

  /** @returns whether to set the message aside now; if not, it is retried */
  count(topic: string, offset: bigint): boolean {
    const place = `${topic}@${offset}`;
    const failures = (this.#counts.get(place) ?? 0) + 1;
    if (this.#counts.size >= PLACES_MAX) this.#counts.clear();
    if (failures < FAILURES_MAX) {
      this.#counts.set(place, failures);
      return false;
    }
    this.#counts.delete(place);
    return true;
  }
}

const TEXT_LENGTH_MAX = 500;

/** Text of any error, short enough for a result and a header. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, TEXT_LENGTH_MAX).toWellFormed();
}
