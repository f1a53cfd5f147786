/**
 * `dead-letters list`, `show` and `acknowledge`: messages that could not be processed. An acknowledgement records that a
 * person has handled them by other means.
 */
import { Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_SETTING_NAMES, requireSettings } from '../context.ts';
import { DEAD_LETTER_REASONS, letterDocument, letterText, summaryOf, summaryText } from '../dead-letter.ts';
import { PLACE_HELP, readLetter } from '../read-letter.ts';
import { letterName, notedLetter, noteOf, noteText, whomToAsk, type RedriveNote } from '../redrive-note.ts';
import { claimLetters, readNotes } from '../redrive-notes.ts';
import { readTopics, requireAllRead, requireNothingHidden } from '../topic-reading.ts';
import { addDeadLettersRedriveCommand } from './dead-letters-redrive.ts';
import { exitOnClosedOutput } from '../output.ts';
import { CliFailure } from '../exit-codes.ts';
import { operatorName } from '../operator.ts';

export function addDeadLettersCommand(program: CliCommand): void {
  const deadLetters = program
    .command('dead-letters')
    .description('look at messages that could not be processed, publish them again, or mark them as handled');
  addList(deadLetters);
  addShow(deadLetters);
  addDeadLettersRedriveCommand(deadLetters);
  addAcknowledge(deadLetters);
}

function addList(deadLetters: CliCommand): void {
  deadLetters
    .command('list')
    .description('list the dead letters by lane, oldest first, without their values')
    .addOption(new Option('--reason <reason>', 'only those with this reason').choices(DEAD_LETTER_REASONS))
    .option('--open', 'only those that nobody redrove or acknowledged', false)
    .details(
      `
Settings: KAFKA_BROKERS, TOPIC_PREFIX.

Examples:
  $ npm run cli -- dead-letters list
  $ npm run --silent cli -- --output json dead-letters list --reason UNREADABLE | jq -r .key`,
    )
    .runs(async (output, options: { open: boolean; reason?: string }) => {
      exitOnClosedOutput();
      const settings = requireSettings(CLI_SETTING_NAMES);
      const { hidden, notes } = await readNotes(settings);
      const unread = await readTopics(settings, {
        topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
        onRecord: (record) => {
          const letter = summaryOf(record);
          if (noteOf(record) !== null || (options.reason ?? letter.reason) !== letter.reason) return;
          const redriven = notes.get(letterName(record)) ?? [];
          if (options.open && redriven.length > 0) return;
          output.document({ ...letter, redriven: redriven.map(noteDocument) }, summaryText(letter, redriven));
        },
      });
      requireAllRead(hidden.length > 0 ? hidden : unread);
    });
}

function addShow(deadLetters: CliCommand): void {
  deadLetters
    .command('show')
    .description('print one dead letter with its headers and its bytes, which may hold account data')
    .argument('<place>', PLACE_HELP)
    .details(
      `
Settings: KAFKA_BROKERS, TOPIC_PREFIX. Exits with 3 when there is no dead letter at that place.

Examples:
  $ npm run cli -- dead-letters show 2/15
  $ npm run --silent cli -- --output json dead-letters show 2/15 | jq -r .valueHex | xxd -r -p`,
    )
    .runs(async (output, place: string) => {
      const settings = requireSettings(CLI_SETTING_NAMES);
      const letter = await readLetter(settings, place);
      const { hidden, notes } = await readNotes(settings);
      const redriven = notes.get(letterName(letter)) ?? [];
      output.document(
        { ...letterDocument(letter), redriven: redriven.map(noteDocument) },
        letterText(letter, redriven),
      );
      requireAllRead(hidden);
    });
}

function addAcknowledge(deadLetters: CliCommand): void {
  deadLetters
    .command('acknowledge')
    .description('mark dead letters as handled, so that page, doctor and alert no longer count them; publishes nothing')
    .argument('<places...>', PLACE_HELP)
    .addOption(
      new Option('--because <text>', 'how they were handled; kept with the dead letters').makeOptionMandatory(),
    )
    .option('--operator <name>', 'who acknowledges; default: PAYMENTS_OPERATOR or the system user')
    .details(
      `
If the message itself was fine, fix the cause and redrive it instead. A dead letter that was redriven before is handled
already: it says so, and exits with 7. When only some could be marked, it says which.
Exits with 3 when a place has no dead letter; then nothing is marked. Exits with 5 when one may have been marked.
Settings: KAFKA_BROKERS, TOPIC_PREFIX.

Examples:
  $ npm run cli -- dead-letters acknowledge 2/15 2/16 --because 'publisher sent them again as order-17b'`,
    )
    .runs(async (output, places: string[], flags: { because: string; operator?: string }) => {
      const operator = operatorName(flags.operator);
      if (flags.because.trim() === '')
        throw new CliFailure('usage', '--because must say how the dead letters were handled');
      const settings = requireSettings(CLI_SETTING_NAMES);
      const { hidden, notes } = await readNotes(settings);
      requireNothingHidden(hidden);
      const open = [];
      const handled: RedriveNote[] = [];
      for (const place of places) {
        const letter = await readLetter(settings, place);
        const known = notes.get(letterName(letter)) ?? [];
        if (known.length === 0) open.push({ letter, key: '', because: flags.because, knownNotes: [] });
        handled.push(...known);
      }
      const earlier = await claimLetters(settings, operator, open);
      for (const [index, { letter }] of open.entries()) {
        const name = letterName(letter);
        const first = earlier[index] ?? null;
        if (first !== null) handled.push(first);
        else output.document({ acknowledged: name, operator, because: flags.because }, [`acknowledged ${name}`]);
      }
      for (const note of handled.filter(({ because }) => because !== null))
        output.note(`before you, ${notedLetter(note)} was ${noteText(note)}`);
      const redriven = handled.filter(({ because }) => because === null);
      if (redriven.length > 0) throw new CliFailure('refused', redriven.map(redrivenText));
    });
}

/** The operator who acknowledges may know of a payment that was made otherwise. */
function redrivenText(note: RedriveNote): string {
  return `before you, ${notedLetter(note)} was ${noteText(note)}: if the payment was made otherwise too, it may be paid twice; ${whomToAsk(note)}`;
}

function noteDocument({ because, key, operator, timestamp }: RedriveNote): object {
  return { key: because === null ? key : null, because, operator, timestamp };
}
