/**
 * The group's committed offsets, told now and then for tools that show lag; nobody reads them back. Best effort: what could
 * not be told is told the next time.
 *
 *   told    positions that changed, every second, and once more at the end
 */
import type { GroupOffset } from './group-member.ts';

const TELL_AGAIN_MS = 1_000;

export interface OffsetReportsOptions {
  /** Next offsets of what is in the ledger, of lanes that are open here. */
  readonly positions: () => readonly GroupOffset[];
  /** Rejects where the group did not take them. */
  readonly commit: (offsets: readonly GroupOffset[]) => Promise<void>;
}

export class OffsetReports {
  readonly #options: OffsetReportsOptions;
  readonly #told = new Map<string, bigint>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: OffsetReportsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      void this.tell().then(() => {
        if (this.#timer !== null) this.start();
      });
    }, TELL_AGAIN_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Never rejects. */
  async tell(): Promise<void> {
    const changed = this.#options
      .positions()
      .filter((position) => this.#told.get(nameOf(position)) !== position.offset);
    if (changed.length === 0) return;
    try {
      await this.#options.commit(changed);
      for (const position of changed) this.#told.set(nameOf(position), position.offset);
    } catch {
      // Between two generations of the group, or without a coordinator.
    }
  }
}

function nameOf({ lane, topic }: GroupOffset): string {
  return `${topic}/${lane}`;
}
