/** A commander command whose output has the format of `--output`. */
import { Command } from 'commander';
import { createOutput, type Output, type OutputFormat } from './output.ts';

export class CliCommand extends Command {
  override createCommand(name: string): CliCommand {
    return new CliCommand(name);
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
