/**
 * Limits repeated log lines: logs the first at once, then one per minute with the number of repeats. Kinds beyond KINDS_MAX
 * share one kind.
 */
const LOG_AGAIN_MS = 60_000;
const KINDS_MAX = 50;
const OTHERS = 'others';
/** Kinds differ by their words, not by addresses, lanes or durations. */
const NUMBERS = /\d+/g;

export class Repeats {
  readonly #nowMs: () => number;
  readonly #kinds = new Map<string, { loggedMs: number; unlogged: number }>();

  /** @param nowMs of a clock that never goes back */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Call it for each event.
   * @returns null: do not log now; else the number of events not logged since the previous line
   */
  unlogged(text: string): number | null {
    const nowMs = this.#nowMs();
    const kind = this.#kindOf(text.replaceAll(NUMBERS, '#'), nowMs);
    const known = this.#kinds.get(kind);
    if (known === undefined) {
      this.#kinds.set(kind, { loggedMs: nowMs, unlogged: 0 });
      return 0;
    }
    if (nowMs - known.loggedMs < LOG_AGAIN_MS) {
      known.unlogged += 1;
      return null;
    }
    const { unlogged } = known;
    this.#kinds.set(kind, { loggedMs: nowMs, unlogged: 0 });
    return unlogged;
  }

  /** Kinds that no longer occur make room for others. */
  #kindOf(kind: string, nowMs: number): string {
    if (this.#kinds.has(kind) || this.#kinds.size < KINDS_MAX) return kind;
    for (const [name, { loggedMs }] of this.#kinds) if (nowMs - loggedMs >= LOG_AGAIN_MS) this.#kinds.delete(name);
    return this.#kinds.size < KINDS_MAX ? kind : OTHERS;
  }
}
