/**
 * The group's committed offsets, told now and then for tools that show lag. Best effort: what could not be told is told
 * the next time.
 *
 *   told    positions that changed, every second, and once more at the end; where the group has not been told of any
 *           progress yet, at once: an offset without a position in the ledger shows that the ledger was lost
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
  readonly #told = new Map<string, { readonly offset: bigint; readonly isProgress: boolean }>();
  #isTelling = false;
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

  /** These moved on. */
  moved(positions: readonly GroupOffset[]): void {
    if (!this.#isTelling && positions.some((position) => this.#told.get(nameOf(position))?.isProgress !== true))
      void this.tell();
  }

  /** Never rejects. */
  async tell(): Promise<void> {
    const changed = this.#changed();
    if (changed.length === 0) return;
    this.#isTelling = true;
    // Between two generations of the group, or without a coordinator, it takes none.
    const isTold = await this.#options.commit(changed).then(
      () => true,
      () => false,
    );
    this.#isTelling = false;
    if (!isTold) return;
    for (const position of changed) {
      const name = nameOf(position);
      this.#told.set(name, { offset: position.offset, isProgress: this.#told.has(name) });
    }
    this.moved(this.#changed());
  }

  #changed(): GroupOffset[] {
    return this.#options.positions().filter((position) => this.#told.get(nameOf(position))?.offset !== position.offset);
  }
}

function nameOf({ lane, topic }: GroupOffset): string {
  return `${topic}/${lane}`;
}
