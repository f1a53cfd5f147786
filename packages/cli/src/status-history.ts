/** The history of one payment: the changes of its transaction and of its quote, in one list. */
import type { PaymentEvent, Stream } from 'payment-processor-client/internal/events';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { CLI_RETRY, untilInterrupted } from './context.ts';
import { outageNotes } from './event-output.ts';
import type { Output } from './output.ts';

export type StatusEvent = Extract<PaymentEvent, { kind: 'transaction-status' | 'quote-status' }>;

/**
 * @param id of a transaction or of a quote
 * @returns the changes that were published about either, oldest first, each once
 * @throws the Kafka client's error; an Error naming the topics that do not exist
 */
export async function readStatusHistory(settings: ClientSettings, id: string, output: Output): Promise<StatusEvent[]> {
  const own = await read(settings, ['transaction-status', 'quote-status'], id, () => true, output);
  const transactions = own.filter((event) => event.kind === 'transaction-status');
  const quotes = own.filter((event) => event.kind === 'quote-status');
  const [first] = quotes;
  if (transactions.length > 0) {
    const quoteId = transactions.findLast(({ value }) => value.quoteId !== null)?.value.quoteId ?? null;
    // A service that does not name the quote on a transaction: the quote names the transaction.
    const isItsQuote = (event: StatusEvent): boolean =>
      event.kind === 'quote-status' && event.value.transactionId === id;
    quotes.push(...((await read(settings, ['quote-status'], quoteId, isItsQuote, output)) as typeof quotes));
  } else if (first?.value.transactionId != null) {
    const others = await read(settings, ['transaction-status'], first.value.transactionId, () => true, output);
    transactions.push(...(others as typeof transactions));
  }
  return [...transactions, ...quotes].sort((left, right) => observedMs(left) - observedMs(right));
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
      if ((event.kind === 'transaction-status' || event.kind === 'quote-status') && isWanted(event)) events.push(event);
    },
  });
  try {
    await untilInterrupted(subscription.ended);
  } finally {
    await subscription.close();
  }
  return events;
}

/** When a change was observed, ms since 1970. */
export function observedMs({ value }: StatusEvent): number {
  return Number(value.observedAt);
}
