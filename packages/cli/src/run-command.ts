/** One command of the command line, from its words to its exit code. */
import { CommanderError, type Command } from 'commander';
import { CliFailure, EXIT_CODES } from './exit-codes.ts';
import { failureOf } from './failures.ts';
import { shownLine } from './output.ts';
import { createProgram } from './program.ts';

/** Settings that are inherited by a command only if they are set before it is made. */
function exitByThrowing(command: Command): void {
  command.exitOverride();
  command.commands.forEach(exitByThrowing);
}

/** @returns the exit code */
export async function runCommand(words: readonly string[]): Promise<number> {
  const program = createProgram();
  exitByThrowing(program);
  try {
    await program.parseAsync(words, { from: 'user' });
    return EXIT_CODES.ok.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
    const failure = error instanceof CliFailure ? error : failureOf(error);
    process.stderr.write(`${failure.message.split('\n').map(shownLine).join('\n')}\n`);
    return EXIT_CODES[failure.reason].code;
  }
}
