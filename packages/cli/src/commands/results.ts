/** `results`, `status` and `status show`: published events of commands, transactions and quotes. */
import type { CliCommand } from '../cli-command.ts';
import type { Stream } from 'payment-processor-client/internal/events';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { requireKey, requireSettings } from '../context.ts';
import { eventDocument, eventText, isoOf, unreadableText } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import { exitOnClosedOutput } from '../output.ts';
import { observedMs, readEvents, readStatusHistory, type EventReading, type StatusEvent } from '../status-history.ts';
import { requireAllRead } from '../topic-reading.ts';
import { keyCommand } from '../key-command.ts';

interface ReadFlags {
  follow: boolean;
  fromBeginning: boolean;
  key?: string;
}

export function addResultsCommand(program: CliCommand): void {
  addReader(program, ['results'], {
    name: 'results',
    description: 'print the results of commands',
    keyHelp: 'only results of this command',
    examples: `
  $ npm run cli -- results
  $ npm run cli -- results --follow
  $ npm run --silent cli -- --output json results --key order-17 | jq .value.outcome`,
  });
  const status = addReader(program, ['transaction-status', 'quote-status'], {
    name: 'status',
    description: 'print the status changes of transactions and quotes',
    keyHelp: 'only changes of this transaction or quote id',
    examples: `
  $ npm run cli -- status
  $ npm run cli -- status --follow
  $ npm run --silent cli -- --output json status --key Transaction:5 | jq .value.status`,
  });
  status
    .command('show')
    .description('print the status changes of one payment, of both its transaction and its quote, with their times')
    .argument('<id>', 'the id of a transaction or of a quote')
    .details(
      `
Each line shows when the processor saw the change, the time since the previous line, and the delay since the service's
own timestamp of the change. Exits with 3 when nothing was published about the id.

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
        throw new CliFailure('notFound', `no status change of ${id} exists, or the topic no longer has it`);
    });
}

function addReader(
  program: CliCommand,
  streams: readonly Stream[],
  texts: { name: string; description: string; keyHelp: string; examples: string },
): CliCommand {
  return program
    .command(texts.name)
    .description(texts.description)
    .option('--follow', 'keep running and print new ones as they arrive', false)
    .option('--from-beginning', 'with --follow: print the existing ones first', false)
    .option('--key <key>', texts.keyHelp)
    .details(
      `
Without --follow it prints everything that the topic still has. It shows only committed records.
With --key and without --follow, it exits with 3 when there is nothing for the key.

Examples:${texts.examples}`,
    )
    .runs(async (output, flags: ReadFlags) => {
      exitOnClosedOutput();
      if (flags.key !== undefined && streams.includes('results')) requireKey(flags.key);
      let found = 0;
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const reading: EventReading = {
        streams,
        key: flags.key ?? null,
        follow: flags.follow ? (flags.fromBeginning ? 'beginning' : 'now') : undefined,
        onEvent: (event) => {
          found += 1;
          output.document(eventDocument(event), eventText(event));
        },
      };
      requireAllRead(await readEvents(settings, reading, output));
      if (flags.key !== undefined && !flags.follow && found === 0) {
        throw new CliFailure(
          'notFound',
          `the topics have no result or status of ${flags.key}, or no longer: see \`${keyCommand('show', flags.key)}\` for what is under way`,
        );
      }
    });
}

/** Null if the service does not say when it changed. */
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
