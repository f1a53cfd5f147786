/**
 * What would be said again and again, said at once and then once a minute with how often it came: for lines of the log
 * whose cause lasts. Bounded: beyond KINDS_MAX kinds all others are one kind.
 */
const SAY_AGAIN_MS = 60_000;
const KINDS_MAX = 50;
const OTHERS = 'others';
/** Kinds differ by words: addresses, lanes and durations are no kinds. */
const NUMBERS = /\d+/g;

export class Repeats {
  readonly #nowMs: () => number;
  readonly #kinds = new Map<string, { saidMs: number; unsaid: number }>();

  /** @param nowMs of a clock that never goes back */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * To be asked each time that it comes.
   * @returns null: not to be said now; else how often it came unsaid since it was said last
   */
  unsaid(text: string): number | null {
    const nowMs = this.#nowMs();
    const kind = this.#kindOf(text.replaceAll(NUMBERS, '#'), nowMs);
    const known = this.#kinds.get(kind);
    if (known === undefined) {
      this.#kinds.set(kind, { saidMs: nowMs, unsaid: 0 });
      return 0;
    }
    if (nowMs - known.saidMs < SAY_AGAIN_MS) {
      known.unsaid += 1;
      return null;
    }
    const { unsaid } = known;
    this.#kinds.set(kind, { saidMs: nowMs, unsaid: 0 });
    return unsaid;
  }

  /** Kinds that are over make room for others. */
  #kindOf(kind: string, nowMs: number): string {
    if (this.#kinds.has(kind) || this.#kinds.size < KINDS_MAX) return kind;
    for (const [name, { saidMs }] of this.#kinds) if (nowMs - saidMs >= SAY_AGAIN_MS) this.#kinds.delete(name);
    return this.#kinds.size < KINDS_MAX ? kind : OTHERS;
  }
}
