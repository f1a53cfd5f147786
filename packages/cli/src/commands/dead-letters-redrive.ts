/** `dead-letters redrive`: publishes dead letters' messages to their topics again, one or all of a reason. */
import { InvalidArgumentError, Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { confirm } from '../confirm.ts';
import { CLI_SETTING_NAMES, requireSettings } from '../context.ts';
import { CliFailure } from '../exit-codes.ts';
import { operatorName } from '../operator-name.ts';
import { durationOption, wholeNumber } from '../option-values.ts';
import type { Output } from '../output.ts';
import { PLACE_HELP, readLetter, readLettersOf } from '../read-letter.ts';
import { letterName, noteText, readNotes, whomToAsk, type RedriveNote } from '../redrive-notes.ts';
import { planRedrives, type PlanOptions, type ReadyRedrive } from '../redrive-plan.ts';
import { outcomeLine, plannedLine, worstOf, type ReportLine } from '../redrive-report.ts';
import { runRedrives, type RunOptions } from '../redrive-run.ts';
import { requireNothingHidden } from '../topic-reading.ts';

/** A batch has no message of its own to be sent again. */
const REASONS = ['UNREADABLE', 'UNKNOWN_SCHEMA', 'INVALID_KEY', 'TOO_LARGE', 'SET_ASIDE', 'REFUSED_DECISION'] as const;
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000;
const AWAIT_DEFAULT = '60s';
/** Headers of the processor's own; a message that had them would be taken for what it is not. */
const OWN_HEADERS = /^(dlq-|moved-)/i;
const HEADERS_MAX = 20;

interface RedriveFlags {
  reason?: string;
  limit: number;
  key?: string;
  keySuffix?: string;
  header: ReadonlyMap<string, string>;
  await: boolean;
  awaitFor: number;
  dryRun: boolean;
  unmasked: boolean;
  operator?: string;
  againMayPayTwice: boolean;
  yes: boolean;
}

type RedriveSettings = Parameters<typeof planRedrives>[0];

export function addDeadLettersRedriveCommand(deadLetters: CliCommand): void {
  deadLetters
    .command('redrive')
    .description("publish dead letters' messages to their topics again: the same bytes, key and headers")
    .argument('[place]', `one: ${PLACE_HELP}`)
    .addOption(
      new Option('--reason <reason>', 'instead of one: all with this reason that were not redriven yet').choices(
        REASONS,
      ),
    )
    .option('--limit <number>', 'with --reason: how many at most', wholeNumber(1, LIMIT_MAX), LIMIT_DEFAULT)
    .option('--key <key>', 'publish the one under this key, which must not be known yet')
    .option('--key-suffix <text>', 'publish each under its own key with this behind it, which must not be known yet')
    .option(
      '--header <name=value>',
      'set a header, or put it in the place of the one there is; repeatable',
      header,
      new Map(),
    )
    .option('--await', 'wait for the results of what was redriven, and print them', false)
    .addOption(durationOption('--await-for <duration>', 'longest wait for each result', AWAIT_DEFAULT))
    .option('--dry-run', 'say what would be done; mark and send nothing', false)
    .option('--unmasked', 'show account numbers and personal data in results as they are', false)
    .option('--operator <name>', 'who redrives; else PAYMENTS_OPERATOR or the system user')
    .option(
      '--again-may-pay-twice',
      'publish the one although it was redriven before: its payment may be made twice',
      false,
    )
    .option('--yes', 'do not ask; required where there is no terminal to ask at', false)
    .details(
      `
What will happen is said first. A key that has its INVALID result already keeps it: such a message needs a new key
(--key, --key-suffix). A command that was set aside (FAILED) is run again by \`resolve KEY --decision RETRY\`.
With --reason each letter is left out, with its reason, whose own key has any other answer than INVALID, may have had one that
the ledger has forgotten since, or is that of another letter of the run: it may be the same payment. Nothing can tell whether a publisher has sent it again under a key of
its choice meanwhile: ask first.
Without a terminal and without --yes nothing is sent, and the exit code is 8. The dead letters stay, each with a note
of who redrove it and as which key; a second time is refused with 7, unless --again-may-pay-twice is given.
Exits with 0 when all were published (with --await: and ACCEPTED), 4 when one ended otherwise, 5 when no result came in
time, 7 when one was left out.
Settings: KAFKA_BROKERS, TOPIC_PREFIX, LEDGER_RETENTION; with --await SCHEMA_REGISTRY_URL as well.

Examples:
  $ npm run cli -- dead-letters redrive 2/15
  $ npm run cli -- dead-letters redrive 2/15 --key order-17-again --header expires-at=2026-02-01T00:00:00Z --await --yes
  $ npm run cli -- dead-letters redrive --reason UNKNOWN_SCHEMA --key-suffix=-again --dry-run
  $ npm run --silent cli -- --output json dead-letters redrive --reason UNKNOWN_SCHEMA --key-suffix=-again --await --yes | jq '{key, outcome}'`,
    )
    .runs(async (output, place: string | undefined, flags: RedriveFlags) => {
      checkFlags(place, flags);
      const operator = operatorName(flags.operator);
      const settings = requireSettings([...CLI_SETTING_NAMES, 'LEDGER_RETENTION']);
      const awaiting = flags.await
        ? { settings: requireSettings(CLIENT_SETTING_NAMES), timeoutMs: flags.awaitFor }
        : null;
      const { hidden, notes } = await readNotes(settings);
      requireNothingHidden(hidden);
      const options = { operator, notes, awaiting };
      if (place === undefined) await redriveMany(settings, flags, options, output);
      else await redriveOne(settings, place, flags, options, output);
    });
}

function checkFlags(place: string | undefined, flags: RedriveFlags): void {
  const problem = problemOf(place, flags);
  if (problem !== null) throw new CliFailure('usage', `${problem}; nothing was sent`);
}

function problemOf(place: string | undefined, flags: RedriveFlags): string | null {
  if ((place === undefined) === (flags.reason === undefined)) return 'give the place of one dead letter, or --reason';
  if (flags.key !== undefined && flags.keySuffix !== undefined) return 'give --key or --key-suffix';
  if (place === undefined && flags.key !== undefined) return '--key is for one dead letter: use --key-suffix';
  if (place === undefined && flags.againMayPayTwice) return '--again-may-pay-twice is for one dead letter at a time';
  if (flags.keySuffix === '') return '--key-suffix must not be empty';
  return null;
}

async function redriveOne(
  settings: RedriveSettings,
  place: string,
  flags: RedriveFlags,
  options: RunOptions,
  output: Output,
): Promise<void> {
  const buried = await readLetter(settings, place);
  const known = options.notes.get(letterName(buried)) ?? [];
  for (const note of known) output.note(`it was ${noteText(note)}`);
  if (!flags.againMayPayTwice) refuseSecond(known.at(-1));
  const [plan] = await planRedrives(settings, [buried], planOptions(flags, options, false));
  if (plan === undefined) throw new Error('a letter has no plan');
  if (plan.kind === 'refused') throw plan.failure;
  if (flags.dryRun) {
    show(output, plannedLine(plan));
    return;
  }
  const { letter, notes, target } = plan;
  output.note(`to ${target.topic}, key ${target.key}, ${letter.value?.length ?? 0} bytes:`);
  for (const note of notes) output.note(`  ${note}`);
  await confirm('Publish this message again?', { yes: flags.yes, withoutTerminal: 'decline' });
  const [line] = await run(settings, [plan], flags, options);
  if (line === undefined) throw new Error('a redrive has no outcome');
  if (line.reason === 'refused' || line.reason === 'failed') throw new CliFailure(line.reason, line.problem ?? '');
  show(output, line);
  if (!flags.await) output.note(`look with \`show ${target.key}\``);
  if (line.reason !== 'ok') throw new CliFailure(line.reason, line.problem ?? '');
}

function refuseSecond(last: RedriveNote | undefined): void {
  if (last === undefined) return;
  throw new CliFailure(
    'refused',
    `the dead letter was ${noteText(last)}: ${whomToAsk(last)}. Published again it may be paid twice; ` +
      'only with --again-may-pay-twice; nothing was sent',
  );
}

async function redriveMany(
  settings: RedriveSettings,
  flags: RedriveFlags,
  options: RunOptions,
  output: Output,
): Promise<void> {
  const reason = flags.reason ?? '';
  const { beyond, letters, redriven } = await readLettersOf(settings, reason, options.notes, flags.limit);
  if (redriven > 0) output.note(`${redriven} with the reason ${reason} were redriven before, and are left out`);
  if (beyond > 0) output.note(`${beyond} more are beyond --limit ${flags.limit}`);
  if (letters.length === 0) {
    output.note(`no dead letter with the reason ${reason} is left to be redriven`);
    return;
  }
  const plans = await planRedrives(settings, letters, planOptions(flags, options, true));
  const ready = plans.filter((plan) => plan.kind === 'ready');
  const refused = plans.filter((plan) => plan.kind === 'refused').map(plannedLine);
  for (const line of refused) show(output, line);
  if (flags.dryRun) {
    for (const plan of ready) show(output, plannedLine(plan));
    output.note(`${ready.length} would be published, ${refused.length} left out; nothing was sent`);
    return;
  }
  output.note(`${ready.length} are to be published, ${refused.length} are left out`);
  if (ready.length > 0) {
    await confirm(`Publish ${ready.length} messages again?`, { yes: flags.yes, withoutTerminal: 'decline' });
  }
  const lines = ready.length === 0 ? [] : await run(settings, ready, flags, options);
  for (const line of lines) show(output, line);
  const summary = summaryOf([...lines, ...refused]);
  output.note(summary);
  const worst = worstOf([...lines, ...refused]);
  if (worst !== 'ok') throw new CliFailure(worst, `not all came to what it should: ${summary}`);
}

function planOptions(flags: RedriveFlags, { notes }: RunOptions, isBulk: boolean): PlanOptions {
  return { key: flags.key ?? null, keySuffix: flags.keySuffix ?? null, headers: flags.header, notes, isBulk };
}

async function run(
  settings: RedriveSettings,
  plans: readonly ReadyRedrive[],
  flags: RedriveFlags,
  options: RunOptions,
): Promise<ReportLine[]> {
  const outcomes = await runRedrives(settings, plans, options);
  return plans.flatMap((plan, index) => {
    const outcome = outcomes[index];
    return outcome === undefined ? [] : [outcomeLine(plan, outcome, flags.unmasked)];
  });
}

function show(output: Output, { document, text }: ReportLine): void {
  output.document(document, text);
}

function summaryOf(lines: readonly ReportLine[]): string {
  const count = (reason: ReportLine['reason']): number => lines.filter((line) => line.reason === reason).length;
  const published = lines.filter(({ document }) => 'status' in document && document.status === 'published').length;
  return [
    `${published} published`,
    `${lines.length - published} not`,
    ...(count('notAccepted') > 0 ? [`${count('notAccepted')} ended otherwise than ACCEPTED`] : []),
    ...(count('noResult') > 0 ? [`${count('noResult')} without a result in time`] : []),
  ].join(', ');
}

function header(text: string, earlier: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  if (!/^[\x21-\x7e]{1,200}$/.test(name))
    throw new InvalidArgumentError('It must be like expires-at=2026-02-01T00:00:00Z.');
  if (OWN_HEADERS.test(name)) throw new InvalidArgumentError(`${name} is a header that the processor sets itself.`);
  if (earlier.size >= HEADERS_MAX) throw new InvalidArgumentError(`At most ${HEADERS_MAX} headers can be set.`);
  return new Map([...earlier, [name, text.slice(at + 1)]]);
}
