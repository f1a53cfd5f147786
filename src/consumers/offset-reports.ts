/**
 * Commits the group's offsets regularly, for tools that show lag. Best effort: a failed report is repeated next time.
 *
 * It reports positions that changed: every second, and when its owner asks. It reports the first progress of an input
 * at once: if the ledger is lost later, this offset proves that it existed.
 */
import type { GroupOffset } from './group-member.ts';

const REPORT_AGAIN_MS = 1_000;

export interface OffsetReportsOptions {
  /** Committed positions of the lanes that the group has assigned to this process. */
  readonly positions: () => readonly GroupOffset[];
  /** Rejects if the group did not accept them. */
  readonly commit: (offsets: readonly GroupOffset[]) => Promise<void>;
}

export class OffsetReports {
  readonly #options: OffsetReportsOptions;
  readonly #reported = new Map<string, { readonly offset: bigint; readonly isProgress: boolean }>();
  #isReporting = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: OffsetReportsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      void this.report().then(() => {
        if (this.#timer !== null) this.start();
      });
    }, REPORT_AGAIN_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** These positions have advanced. */
  moved(positions: readonly GroupOffset[]): void {
    if (!this.#isReporting && positions.some((position) => this.#reported.get(nameOf(position))?.isProgress !== true))
      void this.report();
  }

  /** Never rejects. */
  async report(): Promise<void> {
    const changed = this.#changed();
    if (changed.length === 0) return;
    this.#isReporting = true;
    // Between two generations, or without a coordinator, the group accepts none.
    const isAccepted = await this.#options.commit(changed).then(
      () => true,
      () => false,
    );
    this.#isReporting = false;
    if (!isAccepted) return;
    for (const position of changed) {
      const name = nameOf(position);
      this.#reported.set(name, { offset: position.offset, isProgress: this.#reported.has(name) });
    }
    // The last report may end after the store that knows the positions was closed.
    if (this.#timer !== null) this.moved(this.#changed());
  }

  #changed(): GroupOffset[] {
    return this.#options
      .positions()
      .filter((position) => this.#reported.get(nameOf(position))?.offset !== position.offset);
  }
}

function nameOf({ lane, topic }: GroupOffset): string {
  return `${topic}/${lane}`;
}
