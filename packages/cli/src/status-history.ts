/** The history of one payment: the changes of its transaction and of its quote, in one list. */
import { topicOf, type PaymentEvent, type Stream } from 'payment-processor-client/internal/events';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, laneIn } from './context.ts';
import { outageNotes } from './event-output.ts';
import { inOrder } from './in-order.ts';
import { heldText, readHeldBack } from './lag.ts';
import type { Output } from './output.ts';

/** Of a transaction or a quote; or unreadable. */
export type StatusEvent = Exclude<PaymentEvent, { kind: 'result' }>;

export interface StatusHistory {
  /** Oldest first, each once. */
  readonly events: readonly StatusEvent[];
  /** Sentences about records that an open transaction hides. */
  readonly hidden: readonly string[];
}

/**
 * Reads the published changes of a payment.
 * @param id of its transaction or of its quote
 * @throws the Kafka client's error; an Error naming the topics that do not exist
 */
export async function readStatusHistory(settings: ClientSettings, id: string, output: Output): Promise<StatusHistory> {
  const hidden = new Set<string>();
  const read = async (
    streams: readonly Stream[],
    key: string | null,
    isWanted: (event: StatusEvent) => boolean = () => true,
  ): Promise<StatusEvent[]> => {
    const names = topicNames(settings.TOPIC_PREFIX);
    const topics = streams.map((stream) => topicOf(stream, names));
    const lane = key === null ? undefined : await laneIn(settings, key);
    for (const held of await readHeldBack(cliKafka(settings), topics, lane)) hidden.add(heldText(held));
    return readChanges(settings, streams, key, isWanted, output);
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
  } else if (quote?.value.transactionId != null) {
    others.push(...(await read(['transaction-status'], quote.value.transactionId)));
  }
  return { events: inOrder([...own, ...others], ({ topic }) => topic, observedMs), hidden: [...hidden] };
}

/** @param key null: events of all keys */
async function readChanges(
  settings: ClientSettings,
  streams: readonly Stream[],
  key: string | null,
  isWanted: (event: StatusEvent) => boolean,
  output: Output,
): Promise<StatusEvent[]> {
  const events: StatusEvent[] = [];
  const subscription = await subscribe(settings, {
    streams,
    start: { from: 'beginning' },
    untilEnd: true,
    retry: CLI_RETRY,
    deduplicate: true,
    onNotice: outageNotes(output),
    ...(key === null ? {} : { key }),
    onEvent: (event) => {
      if (event.kind !== 'result' && isWanted(event)) events.push(event);
    },
  });
  try {
    // No signal stops it early: a partial list must not look complete.
    await subscription.ended;
  } finally {
    await subscription.close();
  }
  return events;
}

/** When a change was observed, ms since 1970; for an unreadable one, when it was written. */
export function observedMs(event: StatusEvent): number {
  return event.kind === 'unreadable' ? event.timestampMs : Number(event.value.observedAt);
}
