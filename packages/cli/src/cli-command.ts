/** A command of the command line: commander's, with an output in the format of `--output`. */
import { Command } from 'commander';
import { createOutput, type Output, type OutputFormat } from './output.ts';

export class CliCommand extends Command {
  override createCommand(name: string): CliCommand {
    return new CliCommand(name);
  }

  /** What its help says after the options. */
  details(text: string): this {
    return this.addHelpText('after', text);
  }

  /** What it does, by its arguments and then its options. */
  runs(run: (output: Output, ...given: never[]) => Promise<void>): this {
    return this.action(async (...given) => {
      const { output = 'text' } = this.optsWithGlobals<{ output?: OutputFormat }>();
      await run(createOutput(output), ...(given as never[]));
    });
  }
}
