/** Everything published and received during the demo, in order: the checks judge exactly what the table shows. */
import { EventEmitter, once } from 'node:events';
import type { CommandType, PaymentEvent } from 'payment-processor-client';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';

export type JournalEntry =
  | PaymentEvent
  | { kind: 'command'; key: string; type: CommandType; note: string }
  | ({ kind: 'dead-letter'; key: string } & Pick<TopicRecord, 'headers' | 'value'>);

type EntryOf<Kind> = Extract<JournalEntry, { kind: Kind }>;

export class Journal extends EventEmitter<{ entry: [JournalEntry] }> {
  readonly #entries: JournalEntry[] = [];
  readonly #end = new AbortController();

  add(entry: JournalEntry): void {
    this.#entries.push(entry);
    this.emit('entry', entry);
  }

  ofKind<Kind extends JournalEntry['kind']>(kind: Kind): EntryOf<Kind>[] {
    return this.#entries.filter((entry): entry is EntryOf<Kind> => entry.kind === kind);
  }

  /** Ends all waits; the first reason counts. */
  end(reason: string): void {
    this.#end.abort(reason);
  }

  /**
   * @param find looks for what is awaited, now and after every new entry
   * @throws an error that says why it did not arrive: a timeout, or the journal has ended
   */
  async waitFor<Value>(find: () => Value | undefined, timeoutMs: number): Promise<Value> {
    const signal = AbortSignal.any([this.#end.signal, AbortSignal.timeout(timeoutMs)]);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.#end.signal.aborted) throw new Error(String(this.#end.signal.reason));
      if (signal.aborted) throw new Error(`none arrived within ${timeoutMs / 1000} s`);
      // It rejects only because of the signal, which is checked above.
      await once(this, 'entry', { signal }).catch(() => undefined);
    }
  }
}
