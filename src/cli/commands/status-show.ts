/** `status show`: the history of one payment, its transaction's changes and its quote's in one list. */
import type { Command } from 'commander';
import type { PaymentEvent, Stream } from '../../client/events.ts';
import { CLIENT_SETTING_NAMES, type ClientSettings } from '../../client/settings.ts';
import { subscribe } from '../../client/subscription.ts';
import { CLI_RETRY, outputOf, requireSettings, untilInterrupted } from '../context.ts';
import { eventDocument, isoOf } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import type { Output } from '../output.ts';

type StatusEvent = Extract<PaymentEvent, { kind: 'transaction-status' | 'quote-status' }>;

/** Adds the subcommand to `status`, which must be there already. */
export function addStatusShowCommand(program: Command): void {
  program.commands
    .find((command) => command.name() === 'status')
    ?.command('show')
    .description('print the history of one payment: the changes of its transaction and of its quote, with their times')
    .argument('<id>', 'the id of a transaction or of a quote')
    .addHelpText(
      'after',
      `
Each line has the time at which the change was observed, the time since the line before, and how long after the change
it was observed, by the service's own timestamp. Exits with 3 when nothing was published about the id.

Examples:
  $ npm run cli -- status show Transaction:5
  $ npm run --silent cli -- --output json status show Quote:5 | jq .sincePreviousMs`,
    )
    .action(async (id: string, _options: unknown, command: Command) => {
      const output = outputOf(command);
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const events = await historyOf(settings, id, output);
      if (events.length === 0) throw new CliFailure('notFound', `no status change of ${id} was published`);
      events.forEach((event, index) => {
        const previous = events[index - 1];
        const sincePreviousMs = previous === undefined ? null : observedMs(event) - observedMs(previous);
        const seenAfterMs = seenAfter(event);
        output.document(
          { ...eventDocument(event), sincePreviousMs, seenAfterMs },
          lineOf(event, sincePreviousMs, seenAfterMs),
        );
      });
    });
}

async function historyOf(settings: ClientSettings, id: string, output: Output): Promise<StatusEvent[]> {
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
    onRegistryOutage: (problem) => output.note(`waiting for the schema registry: ${problem}`),
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

function observedMs({ value }: StatusEvent): number {
  return Number(value.observedAt);
}

/** Null where the service does not say when it changed. */
function seenAfter(event: StatusEvent): number | null {
  if (event.kind !== 'transaction-status' || event.value.changedAt === null) return null;
  const changedMs = Date.parse(event.value.changedAt);
  return Number.isNaN(changedMs) ? null : observedMs(event) - changedMs;
}

function lineOf(event: StatusEvent, sincePreviousMs: number | null, seenAfterMs: number | null): string {
  const { previousStatus, status, commandKey } = event.value;
  const since = sincePreviousMs === null ? '' : `+${secondsOf(sincePreviousMs)}`;
  const what = event.kind === 'transaction-status' ? 'transaction' : 'quote';
  const notes = [
    ...(event.kind === 'transaction-status' && event.value.failureReason !== null ? [event.value.failureReason] : []),
    ...(event.kind === 'quote-status' && event.value.derivedFromTransaction ? ['from its transaction'] : []),
    commandKey === null ? 'polled' : `command ${commandKey}`,
    ...(seenAfterMs === null ? [] : [`seen after ${secondsOf(seenAfterMs)}`]),
  ];
  return `${isoOf(observedMs(event))}  ${since.padStart(10)}  ${what.padEnd(11)}  ${previousStatus ?? '(new)'} -> ${status}  ${notes.join(', ')}`;
}

function secondsOf(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
