/**
 * The command line: topics, schemas, publishing, looking, deciding and checking. Settings come from the environment alone.
 *
 * Results go to standard output, everything else to standard error; the exit code tells what became of it
 * (exit-codes.ts). What its user can mend is shown as a sentence, without a stack.
 */
import { CommanderError, type Command } from 'commander';
import { CliFailure, EXIT_CODES } from './exit-codes.ts';
import { failureOf } from './failures.ts';
import { shownLine } from './output.ts';
import { createProgram } from './program.ts';

/** Longest that sockets which are closing may hold the process back once all is written. */
const EXIT_GRACE_MS = 2_000;

/** Settings that are inherited by a command only if they are set before it is made. */
function exitByThrowing(command: Command): void {
  command.exitOverride();
  command.commands.forEach(exitByThrowing);
}

async function run(): Promise<number> {
  const program = createProgram();
  exitByThrowing(program);
  try {
    await program.parseAsync(process.argv);
    return EXIT_CODES.ok.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
    const failure = error instanceof CliFailure ? error : failureOf(error);
    process.stderr.write(`${failure.message.split('\n').map(shownLine).join('\n')}\n`);
    return EXIT_CODES[failure.reason].code;
  }
}

// A reader of our output that is done, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT_CODES.ok.code);
  throw error;
});
process.exitCode = await run();
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
