/** A commander command whose output has the format of `--output`. */
import { Command, type Option } from 'commander';
import { createOutput, type Output, type OutputFormat } from './output.ts';

export class CliCommand extends Command {
  override createCommand(name: string): CliCommand {
    return new CliCommand(name);
  }

  /** An option that takes one value cannot be given twice: the first value would be lost silently. */
  override addOption(option: Option): this {
    super.addOption(option);
    let isGiven = false;
    if (option.required && !(option.defaultValue instanceof Map))
      this.on(`option:${option.name()}`, () => {
        if (isGiven)
          this.error(`error: option '${option.flags}' is given twice`, { code: 'commander.optionGivenTwice' });
        isGiven = true;
      });
    return this;
  }

  /** Help text after the options. */
  details(text: string): this {
    return this.addHelpText('after', text);
  }

  /** The action; it gets the arguments, then the options. */
  runs(run: (output: Output, ...given: never[]) => Promise<void>): this {
    return this.action(async (...given) => {
      const { output = 'text' } = this.optsWithGlobals<{ output?: OutputFormat }>();
      await run(createOutput(output), ...(given as never[]));
    });
  }
}
