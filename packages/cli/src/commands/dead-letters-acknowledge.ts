/** `dead-letters acknowledge`: says that a person has handled them otherwise; they are open no more. */
import { Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { CLI_SETTING_NAMES, requireSettings } from '../context.ts';
import { CliFailure } from '../exit-codes.ts';
import { operatorName } from '../operator-name.ts';
import { PLACE_HELP, readLetter } from '../read-letter.ts';
import { acknowledge, letterName, noteText, readNotes } from '../redrive-notes.ts';
import { requireNothingHidden } from '../topic-reading.ts';

export function addDeadLettersAcknowledgeCommand(deadLetters: CliCommand): void {
  deadLetters
    .command('acknowledge')
    .description('mark dead letters as handled: page, doctor and alert count them no more; nothing is published')
    .argument('<places...>', PLACE_HELP)
    .addOption(new Option('--because <text>', 'what was done about them; kept with them').makeOptionMandatory())
    .option('--operator <name>', 'who acknowledges; else PAYMENTS_OPERATOR or the system user')
    .details(
      `
One that was redriven is handled already. A message that was fine is redriven instead, once its cause is fixed.
Settings: KAFKA_BROKERS, TOPIC_PREFIX. Exits with 3 when there is no dead letter at a place; nothing is marked then.

Examples:
  $ npm run cli -- dead-letters acknowledge 2/15 2/16 --because 'publisher sent them again as order-17b'`,
    )
    .runs(async (output, places: string[], flags: { because: string; operator?: string }) => {
      const operator = operatorName(flags.operator);
      if (flags.because.trim() === '') throw new CliFailure('usage', '--because must say what was done');
      const settings = requireSettings(CLI_SETTING_NAMES);
      const { hidden, notes } = await readNotes(settings);
      requireNothingHidden(hidden);
      const open = [];
      for (const place of places) {
        const letter = await readLetter(settings, place);
        const known = notes.get(letterName(letter))?.at(-1);
        if (known === undefined) open.push({ letter, knownNotes: [] });
        else output.note(`${letterName(letter)} was ${noteText(known)}`);
      }
      const earlier = await acknowledge(settings, operator, open, flags.because);
      for (const [index, { letter }] of open.entries()) {
        const name = letterName(letter);
        const first = earlier[index] ?? null;
        if (first !== null) output.note(`${name} was ${noteText(first)}, before you`);
        else output.document({ acknowledged: name, operator, because: flags.because }, [`acknowledged ${name}`]);
      }
    });
}
