/** A file with a line for each event that was handled: a line is both the effect of the event and the memory of it. */
import { open, readFile, type FileHandle } from 'node:fs/promises';
import type { Outcome } from 'payment-processor-client';

export interface Handled {
  id: string;
  key: string;
  revision: number;
  outcome: Outcome;
  transactionId: string;
}

export class Journal {
  readonly #file: FileHandle;
  readonly #handled = new Set<string>();
  readonly #revisions = new Map<string, number>();

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(path: string): Promise<Journal> {
    const text = await readFile(path, 'utf8').catch(() => '');
    // A last line that was cut off by a crash is dropped: its event comes again.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const file = await open(path, 'a');
    await file.truncate(Buffer.byteLength(whole));
    const journal = new Journal(file);
    for (const line of whole.split('\n').slice(0, -1)) journal.#remember(JSON.parse(line) as Handled);
    return journal;
  }

  /** Resolves once the event is on the disk, to whether it said anything new. */
  async handle(event: Handled): Promise<boolean> {
    if (this.#handled.has(event.id)) return false;
    // The highest revision counts; a conflict is about one message, and what is known of the key stands.
    const isNews = event.outcome === 'CONFLICT' || event.revision > (this.#revisions.get(event.key) ?? 0);
    await this.#file.write(`${JSON.stringify(event)}\n`);
    await this.#file.sync();
    this.#remember(event);
    return isNews;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #remember({ id, key, outcome, revision }: Handled): void {
    this.#handled.add(id);
    if (outcome !== 'CONFLICT') this.#revisions.set(key, Math.max(revision, this.#revisions.get(key) ?? 0));
  }
}
