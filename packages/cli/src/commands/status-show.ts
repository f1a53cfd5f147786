/** `status show`: the history of one payment, its transaction's changes and its quote's in one list. */
import type { CliCommand } from '../cli-command.ts';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { requireSettings } from '../context.ts';
import { eventDocument, isoOf, unreadableText } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import { observedMs, readStatusHistory, type StatusEvent } from '../status-history.ts';
import { requireAllRead } from '../whole-topics.ts';

/** Adds the subcommand to `status`, which must be there already. */
export function addStatusShowCommand(program: CliCommand): void {
  const status = program.commands.find((command) => command.name() === 'status') as CliCommand;
  status
    .command('show')
    .description('print the history of one payment: the changes of its transaction and of its quote, with their times')
    .argument('<id>', 'the id of a transaction or of a quote')
    .details(
      `
Each line has the time at which the change was observed, the time since the line before, and how long after the change
it was observed, by the service's own timestamp. Exits with 3 when nothing was published about the id.

Examples:
  $ npm run cli -- status show Transaction:5
  $ npm run --silent cli -- --output json status show Quote:5 | jq .sincePreviousMs`,
    )
    .runs(async (output, id: string) => {
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const { events, hidden } = await readStatusHistory(settings, id, output);
      events.forEach((event, index) => {
        const previous = events[index - 1];
        const sincePreviousMs = previous === undefined ? null : observedMs(event) - observedMs(previous);
        const seenAfterMs = seenAfter(event);
        output.document(
          { ...eventDocument(event), sincePreviousMs, seenAfterMs },
          lineOf(event, sincePreviousMs, seenAfterMs),
        );
      });
      requireAllRead(hidden);
      if (events.length === 0)
        throw new CliFailure('notFound', `no status change of ${id} is there, or is kept any more`);
    });
}

/** Null where the service does not say when it changed. */
function seenAfter(event: StatusEvent): number | null {
  if (event.kind !== 'transaction-status' || event.value.changedAt === null) return null;
  const changedMs = Date.parse(event.value.changedAt);
  return Number.isNaN(changedMs) ? null : observedMs(event) - changedMs;
}

function lineOf(event: StatusEvent, sincePreviousMs: number | null, seenAfterMs: number | null): string {
  const since = sincePreviousMs === null ? '' : `+${secondsOf(sincePreviousMs)}`;
  const start = `${isoOf(observedMs(event))}  ${since.padStart(10)}`;
  if (event.kind === 'unreadable') return `${start}  ${unreadableText(event)}`;
  const { previousStatus, status, commandKey } = event.value;
  const what = event.kind === 'transaction-status' ? 'transaction' : 'quote';
  const notes = [
    ...(event.kind === 'transaction-status' && event.value.failureReason !== null ? [event.value.failureReason] : []),
    ...(event.kind === 'quote-status' && event.value.derivedFromTransaction ? ['from its transaction'] : []),
    ...(event.kind === 'transaction-status' && event.value.observedBy === 'POLL' ? ['polled'] : []),
    ...(commandKey === null ? [] : [`command ${commandKey}`]),
    ...(seenAfterMs === null ? [] : [`seen after ${secondsOf(seenAfterMs)}`]),
  ];
  return `${start}  ${what.padEnd(11)}  ${previousStatus ?? '(new)'} -> ${status}  ${notes.join(', ')}`;
}

function secondsOf(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
