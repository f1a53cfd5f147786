/** The history of one payment: the changes of its transaction and of its quote, in one list. */
import type { PaymentEvent, Stream } from 'payment-processor-client/internal/events';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { CLI_RETRY } from './context.ts';
import { outageNotes } from './event-output.ts';
import type { Output } from './output.ts';

/** Of a transaction or of a quote; or one that cannot be read. */
export type StatusEvent = Exclude<PaymentEvent, { kind: 'result' }>;

/**
 * @param id of a transaction or of a quote
 * @returns the changes that were published about either, oldest first, each once
 * @throws the Kafka client's error; an Error naming the topics that do not exist
 */
export async function readStatusHistory(settings: ClientSettings, id: string, output: Output): Promise<StatusEvent[]> {
  const own = await read(settings, ['transaction-status', 'quote-status'], id, () => true, output);
  const transactions = own.filter((event) => event.kind === 'transaction-status');
  const quote = own.find((event) => event.kind === 'quote-status');
  const others: StatusEvent[] = [];
  if (transactions.length > 0) {
    const quoteId = transactions.findLast(({ value }) => value.quoteId !== null)?.value.quoteId ?? null;
    // A service that does not name the quote on a transaction: the quote names the transaction.
    const isItsQuote = (event: StatusEvent): boolean =>
      event.kind === 'quote-status' && event.value.transactionId === id;
    others.push(...(await read(settings, ['quote-status'], quoteId, isItsQuote, output)));
  } else if (quote?.value.transactionId != null) {
    others.push(...(await read(settings, ['transaction-status'], quote.value.transactionId, () => true, output)));
  }
  return [...own, ...others].sort((left, right) => observedMs(left) - observedMs(right));
}

/** @param key null: events of all keys */
async function read(
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
    // No signal ends it early: a part must not be taken for the whole.
    await subscription.ended;
  } finally {
    await subscription.close();
  }
  return events;
}

/** When a change was observed, ms since 1970; when one was written that cannot be read. */
export function observedMs(event: StatusEvent): number {
  return event.kind === 'unreadable' ? event.timestampMs : Number(event.value.observedAt);
}
