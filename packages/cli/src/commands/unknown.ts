/** `unknown list`: results that wait for an operator's decision, with the commands to run next. Read-only. */
import type { CliCommand } from '../cli-command.ts';
import { CLIENT_SETTING_NAMES, createRegistry } from 'payment-processor-client/internal/settings';
import { commandLine } from 'payment-processor-contract/command-line';
import { ageSeconds, ageText } from '../age-text.ts';
import { isoOf } from '../event-output.ts';
import { subjectOf } from '../../../../src/ledger/effect.ts';
import { readUnknownResults, type ScannedEntry, type UnknownEntry } from '../ledger.ts';
import { maskedText } from '../masking.ts';
import type { Entry } from '../../../../src/ledger/entry.ts';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandError, CommandResult } from 'payment-processor-contract/types';
import { requireSettings } from '../context.ts';
import { limitOption, readForOption } from '../option-values.ts';
import { requireAllRead } from '../topic-reading.ts';
import { sentMsOf } from '../transaction-comparison.ts';
import { keyCommand } from '../key-command.ts';

/** The service's clock may differ. */
const LOOK_BEFORE_MS = 3_600_000;
/** A known transaction may be older than the call: a quote's, or that of a payment to be rejected. */
const LOOK_BEFORE_KNOWN_MS = 7 * 86_400_000;

export function addUnknownCommand(program: CliCommand): void {
  const unknown = program.command('unknown').description('look at UNKNOWN results, on which an operator must decide');
  unknown
    .command('list')
    .description('list them, oldest first: key, transaction, first call, age, reason, and the commands to run next')
    .addOption(limitOption('how many to show, oldest first').default(100))
    .addOption(readForOption('time limit for reading the ledger'))
    .details(
      `
It reads all lanes of the ledger topic. Account numbers and personal data in messages are masked.
The \`resolve\` line decides nothing until you fill in the decision and the reason (docs/runbooks/unknown-results.md).
Exits with 1 when it could not read everything, otherwise with 0. Settings: KAFKA_BROKERS, SCHEMA_REGISTRY_URL, TOPIC_PREFIX.

Examples:
  $ npm run cli -- unknown list
  $ npm run --silent cli -- --output json unknown list | jq -r '[.ageSeconds, .key, .transactionId] | @tsv'`,
    )
    .runs(async (output, { limit, readFor }: { limit: number; readFor: number }) => {
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const { cuts, found } = await readUnknownResults(settings, readFor);
      const registry = createRegistry(settings);
      const { results } = topicNames(settings.TOPIC_PREFIX);
      const nowMs = Date.now();
      let unread = 0;
      for (const unknown of found.slice(0, limit)) {
        // Unreadable if the registry does not answer, or another release wrote the result.
        const decoded = await registry.decode(results, unknown.entry.phase.result.value);
        const error = decoded.kind === 'record' ? (decoded.value as CommandResult).error : null;
        if (error === null) unread += 1;
        const document = documentOf(unknown, error, nowMs);
        output.document(document, textOf(document));
      }
      if (found.length > limit) output.note(`${found.length - limit} more are not shown (--limit)`);
      if (unread > 0) output.note(`the reason could not be read for ${unread}: check the schema registry`);
      requireAllRead(cuts);
      if (found.length === 0) output.note('no result is UNKNOWN');
    });
}

/** @param error of the result; null if unreadable */
function documentOf({ entry, lane }: ScannedEntry<UnknownEntry>, error: CommandError | null, nowMs: number) {
  const { completedMs } = entry.phase;
  const subject = subjectOf(entry);
  return {
    key: entry.key,
    command: entry.commandType,
    lane,
    transactionId: subject?.transactionId ?? null,
    quoteId: subject?.quoteId ?? null,
    firstCall: entry.firstSentMs === null ? null : isoOf(entry.firstSentMs),
    calls: entry.attempts,
    completed: isoOf(completedMs),
    ageSeconds: ageSeconds(completedMs, nowMs),
    revision: entry.revision,
    code: error?.code ?? null,
    problem: error === null ? null : maskedText(error.message),
    next: nextCommands(entry),
  };
}

function textOf(unknown: ReturnType<typeof documentOf>): string[] {
  const { code, command, firstCall, key, lane, next, problem, transactionId } = unknown;
  const facts = [
    command,
    `transaction ${transactionId ?? 'unknown'}`,
    `first call ${firstCall ?? 'unknown'}`,
    `UNKNOWN for ${ageText(unknown.ageSeconds)}`,
    `lane ${lane}`,
  ];
  return [
    [key, ...facts].join('  '),
    ...(problem === null ? [] : [`  ${code}: ${problem}`]),
    `  ${next.show}`,
    `  ${next.look}`,
    `  ${next.resolve}`,
  ];
}

/**
 * Lines to copy. Values that an operator must find out are words that no tool accepts, so an unedited `resolve` decides
 * nothing.
 */
export function nextCommands(entry: Entry): { show: string; look: string; resolve: string } {
  const cli = commandLine(process.env);
  const since = isoOf(sentMsOf(entry) - (subjectOf(entry) === null ? LOOK_BEFORE_MS : LOOK_BEFORE_KNOWN_MS));
  const decision = `--decision 'EXECUTED, NOT_EXECUTED or RETRY' --expected-revision ${entry.revision} --reason 'what was found'`;
  return {
    show: `${cli} ${keyCommand('show', entry.key)}`,
    // Ascending, so that transactions from the time of its calls come first.
    look: `${cli} transactions list --all --sort-order asc --start-date ${since}`,
    resolve: `${cli} ${keyCommand('resolve', entry.key, decision)}`,
  };
}
