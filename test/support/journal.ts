/**
 * Everything that the processor publishes: results, status events and dead letters, as a read_committed reader receives
 * them, in order of arrival. Owns its two readers until it is closed.
 */
import { subscribe, type Envelope, type PaymentEvent } from 'payment-processor-client';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { topicNames } from 'payment-processor-contract/topics';
import { openTopicReader, type TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import type { QuoteStatusChanged, TransactionStatusChanged } from 'payment-processor-client';
import { Watch } from './watch.ts';

export type ResultEvent = Extract<PaymentEvent, { kind: 'result' }>;
export type TransactionEvent = Envelope & { kind: 'transaction-status'; value: TransactionStatusChanged };
export type QuoteEvent = Envelope & { kind: 'quote-status'; value: QuoteStatusChanged };

/** Several times as long as a call, its settling time and a session timeout. */
const AWAIT_MS = 60_000;

export class Journal {
  readonly #events: PaymentEvent[] = [];
  readonly #resultsByKey = new Map<string, ResultEvent[]>();
  readonly #arrivedMs = new Map<string, number>();
  readonly #transactionIds = new Set<string>();
  readonly #deadLetters: TopicRecord[] = [];
  readonly #watch = new Watch();
  #resultCount = 0;
  #close: () => Promise<void> = async () => undefined;

  static async open(settings: ClientSettings): Promise<Journal> {
    const journal = new Journal();
    const subscription = await subscribe(settings, {
      streams: ['results', 'transaction-status', 'quote-status'],
      start: { from: 'beginning' },
      onEvent: (event) => journal.take(event),
    });
    const kafka = createKafka(settings, 'test-dead-letters', { retry: PATIENT_RETRY });
    const deadLetters = await openTopicReader(kafka, {
      topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
      start: { from: 'beginning' },
      untilEnd: false,
      groupPrefix: `${settings.TOPIC_PREFIX}-test`,
      onRecord: (record) => journal.takeDeadLetter(record),
    });
    journal.#close = async () => {
      await Promise.all([subscription.close(), deadLetters.close()]);
    };
    return journal;
  }

  close(): Promise<void> {
    return this.#close();
  }

  take(event: PaymentEvent): void {
    this.#events.push(event);
    if (event.kind === 'result') this.#keep(event);
    else if (event.kind === 'transaction-status') this.#transactionIds.add(event.key);
    this.#watch.changed();
  }

  takeDeadLetter(record: TopicRecord): void {
    this.#deadLetters.push(record);
    this.#watch.changed();
  }

  results(key?: string): ResultEvent[] {
    if (key !== undefined) return this.#resultsByKey.get(key) ?? [];
    return this.#events.filter((event): event is ResultEvent => event.kind === 'result');
  }

  /** The number of results of all keys; cheaper than counting `results()`. */
  resultCount(): number {
    return this.#resultCount;
  }

  /** When the first result of the key arrived, in milliseconds of `performance.now()`. */
  arrivedMs(key: string): number | undefined {
    return this.#arrivedMs.get(key);
  }

  transactionEvents(transactionId?: string): TransactionEvent[] {
    return this.#events.filter(
      (event): event is TransactionEvent =>
        event.kind === 'transaction-status' && (transactionId === undefined || event.key === transactionId),
    );
  }

  hasTransactionEvent(transactionId: string): boolean {
    return this.#transactionIds.has(transactionId);
  }

  quoteEvents(quoteId?: string): QuoteEvent[] {
    return this.#events.filter(
      (event): event is QuoteEvent => event.kind === 'quote-status' && (quoteId === undefined || event.key === quoteId),
    );
  }

  deadLetters(): TopicRecord[] {
    return this.#deadLetters;
  }

  /** Waits for the first result of the key. */
  async result(key: string, timeoutMs = AWAIT_MS): Promise<ResultEvent> {
    const [first] = await this.resultsOf(key, 1, timeoutMs);
    if (first === undefined) throw new Error(`no result of ${key}`);
    return first;
  }

  /** Waits until the key has `count` results. */
  async resultsOf(key: string, count: number, timeoutMs = AWAIT_MS): Promise<ResultEvent[]> {
    await this.until(() => this.results(key).length >= count, `${count} results of ${key}`, timeoutMs);
    return this.results(key);
  }

  /** Waits for the first result of each key. @returns them in the order of the keys */
  async resultsOfAll(keys: readonly string[], timeoutMs = AWAIT_MS): Promise<ResultEvent[]> {
    const missing = (): string[] => keys.filter((key) => !this.#resultsByKey.has(key));
    await this.until(
      () => missing().length === 0,
      () => `results of ${missing().join(', ')}`,
      timeoutMs,
    );
    return keys.flatMap((key) => this.results(key).slice(0, 1));
  }

  /** Waits for a dead letter that matches. */
  deadLetter(isIt: (record: TopicRecord) => boolean, what: string): Promise<TopicRecord> {
    return this.found(() => this.#deadLetters.find(isIt), `a dead letter: ${what}`);
  }

  /** Waits until there is one. */
  async found<Item>(find: () => Item | undefined, what: string): Promise<Item> {
    await this.until(() => find() !== undefined, what);
    return find() as Item;
  }

  #keep(event: ResultEvent): void {
    this.#resultCount += 1;
    const known = this.#resultsByKey.get(event.key);
    if (known === undefined) {
      this.#resultsByKey.set(event.key, [event]);
      this.#arrivedMs.set(event.key, performance.now());
    } else known.push(event);
  }

  until(condition: () => boolean, what: string | (() => string), timeoutMs = AWAIT_MS): Promise<void> {
    return this.#watch.until(condition, timeoutMs, typeof what === 'string' ? () => what : what);
  }
}
