/** Reads published events: all of a stream or of a key, and the history of one payment in one list. */
import { topicOf, type PaymentEvent, type Stream } from 'payment-processor-client/internal/events';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, laneIn, untilInterrupted } from './context.ts';
import { outageNotes } from './event-output.ts';
import { heldText, readHeldBack } from './lag.ts';
import type { Output } from './output.ts';

/** A status change of a transaction or a quote, or an unreadable event. */
export type StatusEvent = Exclude<PaymentEvent, { kind: 'result' }>;

export interface StatusHistory {
  /** Oldest first, each once. */
  readonly events: readonly StatusEvent[];
  /** Sentences about records that an open transaction hides. */
  readonly hidden: readonly string[];
}

export interface EventReading {
  readonly streams: readonly Stream[];
  /** Null: events of all keys. */
  readonly key: string | null;
  /** Leaves out copies. */
  readonly deduplicate?: boolean;
  /**
   * Where to start following, until interrupted. Without it the reading has all existing events, and ends after them.
   */
  readonly follow?: 'beginning' | 'now' | undefined;
  readonly onEvent: (event: PaymentEvent) => void;
}

/**
 * @returns sentences about records that an open transaction hides
 * @throws the Kafka client's error; an Error naming the topics that do not exist
 */
export async function readEvents(
  settings: ClientSettings,
  { deduplicate = false, follow, key, onEvent, streams }: EventReading,
  output: Output,
): Promise<readonly string[]> {
  const names = topicNames(settings.TOPIC_PREFIX);
  const topics = streams.map((stream) => topicOf(stream, names));
  const lane = key === null ? undefined : await laneIn(settings, key);
  const held = follow === undefined ? await readHeldBack(cliKafka(settings), topics, lane) : [];
  const subscription = await subscribe(settings, {
    streams,
    start: { from: follow ?? 'beginning' },
    untilEnd: follow === undefined,
    retry: CLI_RETRY,
    deduplicate,
    onNotice: outageNotes(output),
    ...(key === null ? {} : { key }),
    onEvent,
  });
  try {
    // No signal stops a reading to the end early: a partial output must not look complete.
    const ended = follow === undefined ? subscription.ended : untilInterrupted(subscription.ended);
    if (follow !== undefined) output.note('following; Ctrl-C ends');
    await ended;
  } finally {
    await subscription.close();
  }
  return held.map(heldText);
}

/**
 * Reads the published changes of a payment.
 * @param id of its transaction or of its quote
 * @throws as readEvents
 */
export async function readStatusHistory(settings: ClientSettings, id: string, output: Output): Promise<StatusHistory> {
  const hidden = new Set<string>();
  const read = async (
    streams: readonly Stream[],
    key: string | null,
    isWanted: (event: StatusEvent) => boolean = () => true,
  ): Promise<StatusEvent[]> => {
    const events: StatusEvent[] = [];
    const onEvent = (event: PaymentEvent): void => {
      if (event.kind !== 'result' && isWanted(event)) events.push(event);
    };
    const reading = { streams, key, deduplicate: true, onEvent };
    for (const sentence of await readEvents(settings, reading, output)) hidden.add(sentence);
    return events;
  };
  const own = await read(['transaction-status', 'quote-status'], id);
  const transactions = own.filter((event) => event.kind === 'transaction-status');
  const quote = own.find((event) => event.kind === 'quote-status');
  const others: StatusEvent[] = [];
  if (transactions.length > 0) {
    const quoteId = transactions.findLast(({ value }) => value.quoteId !== null)?.value.quoteId ?? null;
    // If the service does not name the quote on the transaction, the quote names the transaction.
    const isItsQuote = (event: StatusEvent): boolean =>
      event.kind === 'quote-status' && event.value.transactionId === id;
    others.push(...(await read(['quote-status'], quoteId, isItsQuote)));
  } else if (quote !== undefined && quote.value.transactionId !== null) {
    others.push(...(await read(['transaction-status'], quote.value.transactionId)));
  }
  return { events: inOrder([...own, ...others], ({ topic }) => topic, observedMs), hidden: [...hidden] };
}

/** When a change was observed, ms since 1970; for an unreadable one, when it was written. */
export function observedMs(event: StatusEvent): number {
  return event.kind === 'unreadable' ? event.timestampMs : Number(event.value.observedAt);
}

/**
 * Sorts records of several topics by time. Within a topic it keeps the offset order: the writer's clock sets each time,
 * but a later offset was always written later.
 * @param items of each topic in its order
 */
export function inOrder<Item>(
  items: readonly Item[],
  topicOf: (item: Item) => string,
  msOf: (item: Item) => number,
): Item[] {
  const latest = new Map<string, number>();
  const timed = items.map((item) => {
    const topic = topicOf(item);
    const ms = Math.max(msOf(item), latest.get(topic) ?? -Infinity);
    latest.set(topic, ms);
    return { item, ms };
  });
  return timed.sort((left, right) => left.ms - right.ms).map(({ item }) => item);
}
