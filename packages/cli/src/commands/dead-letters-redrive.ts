/** `dead-letters redrive`: publishes dead letters' messages to their topics again, one or all of a reason. */
import { InvalidArgumentError, Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { CLI_SETTING_NAMES, requireSettings, type CliSettings } from '../context.ts';
import { REDRIVABLE_REASONS } from '../dead-letter.ts';
import { planRedrives } from '../redrive-plan.ts';
import { plannedLine, tallyOf, worstOf, type ReportLine } from '../redrive-report.ts';
import { runRedrives, type RunOptions } from '../redrive-run.ts';
import { CliFailure, unsent } from '../exit-codes.ts';
import { waitOption, wholeNumber } from '../option-values.ts';
import type { Output } from '../output.ts';
import { PLACE_HELP, readLetter, readLettersOf } from '../read-letter.ts';
import { letterName, noteText } from '../redrive-note.ts';
import { readNotes } from '../redrive-notes.ts';
import { confirm, operatorName } from '../operator.ts';
import { requireNothingHidden } from '../topic-reading.ts';
import { keyCommand } from '../key-command.ts';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000;
/** The processor's own headers: it would misread a message that sets them. */
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

export function addDeadLettersRedriveCommand(deadLetters: CliCommand): void {
  deadLetters
    .command('redrive')
    .description(
      'publish the messages of dead letters again, to their own topics, with the same bytes, key and headers',
    )
    .argument('[place]', `one: ${PLACE_HELP}`)
    .addOption(
      new Option(
        '--reason <reason>',
        'instead of a place: all dead letters with this reason that were not redriven yet',
      )
        .choices(REDRIVABLE_REASONS)
        .conflicts(['key', 'againMayPayTwice']),
    )
    .option('--limit <number>', 'with --reason: publish at most this many', wholeNumber(1, LIMIT_MAX), LIMIT_DEFAULT)
    .addOption(new Option('--key <key>', 'publish it under this key, which must be new').conflicts('keySuffix'))
    .option('--key-suffix <text>', 'append this to the key of each; the resulting key must be new')
    .option('--header <name=value>', 'set a header, replacing any of the same name; repeatable', header, new Map())
    .option('--await', 'wait for the results of the redriven commands, and print them', false)
    .addOption(waitOption('--await-for <duration>', 'longest wait for each result'))
    .option('--dry-run', 'show what would be done; mark and send nothing', false)
    .option('--unmasked', 'show account numbers and personal data in results unmasked', false)
    .option('--operator <name>', 'who redrives; default: PAYMENTS_OPERATOR or the system user')
    .option(
      '--again-may-pay-twice',
      'publish it even though its payment may have been made: it may be made twice',
      false,
    )
    .option('--yes', 'do not ask for confirmation; required without a terminal', false)
    .details(
      `
It first shows what it will do, and asks for confirmation. Without a terminal it requires --yes.
A message that could not be read has a result already: INVALID, or FAILED if it was set aside. Its key keeps that
result. Publish such a message under a new key (--key, --key-suffix).
Only the publisher knows whether it has requested the payment again under another key. Ask the publisher first.
The dead letters stay, each with a note of who redrove it and under which key. --again-may-pay-twice is required where
the payment may have been made:
- the dead letter, or another one with the same key (without a key: the same content), was redriven or acknowledged
  before;
- its own key, or one from which it was redriven, has another result, or may have had one that was forgotten;
- the new key had a command that was forgotten.

With --reason nobody checks each dead letter. So it leaves such dead letters out, and prints why. It also leaves out
those with the key of another one in this run. It refuses operators' decisions: decide again with \`resolve\`.

Exit codes:
  0  all were published, up to --limit (with --await: and ACCEPTED)
  4  with --await: one did not end ACCEPTED
  5  no result came in time, or it is not known whether a message was published
  7  one was refused or left out
  8  not confirmed; nothing was sent
Settings: KAFKA_BROKERS, TOPIC_PREFIX; with --await SCHEMA_REGISTRY_URL as well.

Examples:
  $ npm run cli -- dead-letters redrive 2/15
  $ npm run cli -- dead-letters redrive 2/15 --key order-17-again --header expires-at=2026-02-01T00:00:00Z --await --yes
  $ npm run cli -- dead-letters redrive --reason UNKNOWN_SCHEMA --key-suffix=-again --dry-run
  $ npm run --silent cli -- --output json dead-letters redrive --reason UNKNOWN_SCHEMA --key-suffix=-again --await --yes | jq '{key, outcome}'`,
    )
    .runs(async (output, place: string | undefined, flags: RedriveFlags) => {
      if ((place === undefined) === (flags.reason === undefined))
        throw unsent('usage', 'give the place of one dead letter, or --reason');
      if (flags.keySuffix === '') throw unsent('usage', '--key-suffix must not be empty');
      const operator = operatorName(flags.operator);
      const settings = requireSettings(CLI_SETTING_NAMES);
      const awaiting = flags.await
        ? { settings: requireSettings(CLIENT_SETTING_NAMES), timeoutMs: flags.awaitFor }
        : null;
      const { hidden, notes } = await readNotes(settings);
      requireNothingHidden(hidden);
      const options: RunOptions = {
        operator,
        awaiting,
        notes,
        key: flags.key ?? null,
        keySuffix: flags.keySuffix ?? null,
        headers: flags.header,
        isBulk: place === undefined,
        mayPayTwice: flags.againMayPayTwice,
        isUnmasked: flags.unmasked,
      };
      if (place === undefined) await redriveMany(settings, flags, options, output);
      else await redriveOne(settings, place, flags, options, output);
    });
}

async function redriveOne(
  settings: CliSettings,
  place: string,
  flags: RedriveFlags,
  options: RunOptions,
  output: Output,
): Promise<void> {
  const deadLetter = await readLetter(settings, place);
  for (const note of options.notes.get(letterName(deadLetter)) ?? []) output.note(`it was ${noteText(note)}`);
  const [plan] = await planRedrives(settings, [deadLetter], options);
  if (plan === undefined) throw new Error('a letter has no plan');
  if (plan.kind === 'refused') throw plan.failure;
  if (flags.dryRun) {
    show(output, plannedLine(plan));
    return;
  }
  const { letter, notes, target } = plan;
  output.note(`to be published to ${target.topic}: key ${target.key}, ${letter.value?.length ?? 0} bytes`);
  for (const note of notes) output.note(`  ${note}`);
  await confirm('Publish this message again?', { yes: flags.yes, withoutTerminal: 'decline' });
  const [line] = await runRedrives(settings, [plan], options, output);
  if (line === undefined) throw new Error('a redrive has no outcome');
  if (line.reason !== 'refused' && line.reason !== 'failed') {
    show(output, line);
    if (!flags.await) output.note(`check with \`${keyCommand('show', target.key)}\``);
  }
  if (line.reason !== 'ok') throw new CliFailure(line.reason, line.problem ?? '');
}

async function redriveMany(
  settings: CliSettings,
  flags: RedriveFlags,
  options: RunOptions,
  output: Output,
): Promise<void> {
  const reason = flags.reason ?? '';
  const { beyond, letters, redriven } = await readLettersOf(settings, reason, options.notes, flags.limit);
  if (redriven > 0)
    output.note(
      `left out: ${redriven} with the reason ${reason} that were redriven or acknowledged before. To see whether a redriven one was published, use \`show\` with its new key`,
    );
  if (beyond > 0) output.note(`left out: ${beyond} beyond --limit ${flags.limit}`);
  if (letters.length === 0) {
    output.note(`no dead letter with the reason ${reason} remains to be redriven`);
    return;
  }
  const plans = await planRedrives(settings, letters, options);
  const ready = plans.filter((plan) => plan.kind === 'ready');
  const refused = plans.filter((plan) => plan.kind === 'refused').map(plannedLine);
  for (const line of refused) show(output, line);
  if (flags.dryRun) {
    for (const plan of ready) show(output, plannedLine(plan));
    output.note(`${ready.length} would be published, ${refused.length} left out; nothing was sent`);
    return;
  }
  output.note(`to publish: ${ready.length}; left out: ${refused.length}`);
  if (ready.length > 0) {
    await confirm(`Publish ${ready.length} messages again?`, { yes: flags.yes, withoutTerminal: 'decline' });
  }
  const lines = ready.length === 0 ? [] : await runRedrives(settings, ready, options, output);
  for (const line of lines) show(output, line);
  const tally = tallyOf([...lines, ...refused]);
  output.note(tally);
  const worst = worstOf([...lines, ...refused]);
  if (worst !== 'ok') throw new CliFailure(worst, `some did not succeed: ${tally}`);
}

function show(output: Output, { document, text }: ReportLine): void {
  output.document(document, text);
}

function header(text: string, earlier: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  if (!/^[\x21-\x7e]{1,200}$/.test(name))
    throw new InvalidArgumentError('It must look like expires-at=2026-02-01T00:00:00Z.');
  if (OWN_HEADERS.test(name)) throw new InvalidArgumentError(`${name} is a header that the processor sets itself.`);
  if (earlier.size >= HEADERS_MAX) throw new InvalidArgumentError(`At most ${HEADERS_MAX} headers can be set.`);
  return new Map([...earlier, [name, text.slice(at + 1)]]);
}
